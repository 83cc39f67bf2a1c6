"""What the autoscaler may do: its service account, role and role binding."""

from __future__ import annotations

from rayward.kinds import names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from rayward.operator.cluster.desired import features
from rayward.operator.cluster.desired.children import Object, application_labels, child


def account_name(cluster: RayCluster) -> str:
    """The account of an autoscaling head: the one its template names, else one of the cluster's own."""
    return _users_account(cluster) or names.autoscaler_account(cluster.metadata.name)


def service_account(cluster: RayCluster) -> Object | None:
    """The account; none where there is no autoscaler or where the user brings one."""
    if not features.autoscaling(cluster) or _users_account(cluster):
        return None
    return child(cluster, SERVICE_ACCOUNTS, account_name(cluster), application_labels(cluster))


def role(cluster: RayCluster) -> Object | None:
    """What the autoscaler does: watch pods, resize them, and say in the cluster how many there should be."""
    if not features.autoscaling(cluster):
        return None
    made = child(cluster, ROLES, _role_name(cluster), application_labels(cluster))
    made["rules"] = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
        {"apiGroups": [RAY_CLUSTERS.group], "resources": [RAY_CLUSTERS.plural], "verbs": ["get", "patch"]},
    ]
    return made


def role_binding(cluster: RayCluster) -> Object | None:
    """That role, given to that account."""
    if not features.autoscaling(cluster):
        return None
    made = child(cluster, ROLE_BINDINGS, _role_name(cluster), application_labels(cluster))
    account = {"kind": "ServiceAccount", "name": account_name(cluster), "namespace": cluster.metadata.namespace}
    made["subjects"] = [account]
    made["roleRef"] = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": _role_name(cluster)}
    return made


def _users_account(cluster: RayCluster) -> str:
    spec: Object = cluster.spec.head_group_spec.template.get("spec") or {}
    return spec.get("serviceAccountName") or ""


def _role_name(cluster: RayCluster) -> str:
    return names.autoscaler_account(cluster.metadata.name)
