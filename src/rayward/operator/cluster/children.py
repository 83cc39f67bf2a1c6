"""What a RayCluster should have beside its pods and Services: accounts, secret, claim, policies, ingress."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import GroupNetworkRules, IngressOptions, NetworkRules, RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kinds.shapes import features
from rayward.kinds.shapes.authentication import TOKEN_KEY
from rayward.kinds.shapes.metadata import Object, application_labels, child, fresh
from rayward.kube.core.resource import (
    INGRESSES,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
)
from rayward.operator.cluster.services import dashboard_port

_RETAIN: Final = "Retain"
_CLASS: Final = "kubernetes.io/ingress.class"
_DENY_ALL: Final = "DenyAll"
_INGRESS: Final = "DenyAllIngress"
_EGRESS: Final = "DenyAllEgress"


def service_account(cluster: RayCluster) -> Object | None:
    """The account; none where there is no autoscaler or where the user brings one."""
    if not features.autoscaling(cluster) or features.users_account(cluster):
        return None
    return child(cluster, SERVICE_ACCOUNTS, features.account_name(cluster), application_labels(cluster))


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
    account = {
        "kind": "ServiceAccount",
        "name": features.account_name(cluster),
        "namespace": cluster.metadata.namespace,
    }
    made["subjects"] = [account]
    made["roleRef"] = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": _role_name(cluster)}
    return made


def _role_name(cluster: RayCluster) -> str:
    return names.autoscaler_account(cluster.metadata.name)


def auth_secret(cluster: RayCluster, token: str) -> Object | None:
    """The secret with the cluster's own token; none where the user named one or no token is asked for."""
    options = cluster.spec.auth_options
    if not features.token_auth(cluster) or features.account_auth(cluster) or (options and options.secret_name):
        return None
    cluster_label = {labels.CLUSTER: cluster.metadata.name}
    return {
        **child(cluster, SECRETS, names.auth_secret(cluster.metadata.name), cluster_label),
        "stringData": {TOKEN_KEY: token},
    }


def storage_claim(cluster: RayCluster) -> Object | None:
    """The claim of the embedded storage; none where the user brings one.

    One that is to be retained has no owner, so that it stays when its cluster goes.
    """
    options = cluster.spec.gcs_fault_tolerance_options
    if options is None or not features.embedded_storage(cluster):
        return None
    storage = options.storage
    if storage is not None and storage.claim_name:
        return None
    size = storage.size if storage is not None and storage.size is not None else "1Gi"
    spec: Object = {
        "accessModes": list((storage and storage.access_modes) or ("ReadWriteOnce",)),
        "resources": {"requests": {"storage": size}},
    }
    if storage is not None and storage.storage_class_name is not None:
        spec["storageClassName"] = storage.storage_class_name
    cluster_label = {labels.CLUSTER: cluster.metadata.name}
    claim = child(cluster, PERSISTENT_VOLUME_CLAIMS, names.storage_claim(cluster.metadata.name), cluster_label)
    if storage is not None and storage.deletion_policy == _RETAIN:
        del claim["metadata"]["ownerReferences"]
    return {**claim, "spec": spec}


def network_policy_count(cluster: RayCluster) -> int:
    """How many policies ``network_policies`` returns."""
    return 0 if cluster.spec.network_policy is None else 1 + len(cluster.groups)


def network_policies(cluster: RayCluster) -> list[Object]:
    """One policy for the head and one for each group: the cluster's own traffic, and what the user adds."""
    options = cluster.spec.network_policy
    if options is None:
        return []
    mode = options.mode or _DENY_ALL
    name = cluster.metadata.name
    made = [_policy(cluster, mode, names.head_network_policy(name), labels.HEAD, labels.HEAD_GROUP, options.head)]
    own_rules = {rules.group_name: rules for rules in options.worker_groups or ()}
    for group in cluster.groups:
        policy = names.worker_network_policy(name, group.group_name)
        rules = own_rules.get(group.group_name, options.worker)
        made.append(_policy(cluster, mode, policy, labels.WORKER, group.group_name, rules))
    return made


def _policy(
    cluster: RayCluster,
    mode: str,
    name: str,
    node_type: str,
    group: str,
    rules: NetworkRules | GroupNetworkRules | None,
) -> Object:
    selector = {labels.CLUSTER: cluster.metadata.name, labels.NODE_TYPE: node_type, labels.GROUP: group}
    peers = [{"podSelector": {"matchLabels": {labels.CLUSTER: cluster.metadata.name}}}]
    spec: Object = {"podSelector": {"matchLabels": selector}, "policyTypes": []}
    if mode in (_DENY_ALL, _INGRESS):
        spec["policyTypes"].append("Ingress")
        spec["ingress"] = [{"from": peers}, *fresh((rules and rules.ingress_rules) or [])]
    if mode in (_DENY_ALL, _EGRESS):
        spec["policyTypes"].append("Egress")
        spec["egress"] = [{"to": fresh(peers)}, _dns(), *fresh((rules and rules.egress_rules) or [])]
    its_labels = application_labels(cluster) | {labels.GROUP: group}
    return {**child(cluster, NETWORK_POLICIES, name, its_labels), "spec": spec}


def _dns() -> Object:
    """Without names a worker cannot find its head."""
    return {"ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def ingress(cluster: RayCluster) -> Object | None:
    """The ingress, where the manifest asks for one; the cluster's annotations are its settings."""
    group = cluster.spec.head_group_spec
    if not group.enable_ingress:
        return None
    name = cluster.metadata.name
    its_labels = application_labels(cluster) | {labels.IDENTIFIER: names.identifier(name, labels.HEAD)}
    settings = dict(cluster.metadata.annotations or {})
    settings.pop(labels.ADMITTED, None)
    class_name = settings.pop(_CLASS, None)
    service = {"name": features.head_service_name(cluster), "port": {"number": dashboard_port(cluster)}}
    spec: Object = {"rules": [_rule(name, group.ingress_options, {"service": service})]}
    if group.ingress_options is not None and group.ingress_options.tls:
        spec["tls"] = fresh(group.ingress_options.tls)
    if class_name is not None:
        spec["ingressClassName"] = class_name
    return {**child(cluster, INGRESSES, names.ingress(name), its_labels, settings), "spec": spec}


def _rule(cluster: str, options: IngressOptions | None, backend: Object) -> Object:
    if options is None:
        # Kept for the ingress controllers that read it as a pattern, as every KubeRay user's does.
        path = {"path": f"/{cluster}/(.*)", "pathType": "Exact", "backend": backend}
        return {"http": {"paths": [path]}}
    path = {"path": options.path or "/", "pathType": options.path_type or "Prefix", "backend": backend}
    rule: Object = {"http": {"paths": [path]}}
    return {"host": options.host, **rule} if options.host else rule
