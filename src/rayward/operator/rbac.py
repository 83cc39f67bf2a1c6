"""The least the operator must be allowed to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rayward.kinds.resources import GROUP, RAY_CLUSTERS
from rayward.kube.core.resource import (
    DEPLOYMENTS,
    EVENTS,
    INGRESSES,
    JOBS,
    LEASES,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)

NAME: Final = "rayward-operator"
RBAC: Final = "rbac.authorization.k8s.io"

Object = dict[str, Any]

_FOLLOW: Final = ("get", "list", "watch")
_OWN: Final = (*_FOLLOW, "create", "patch", "delete")


def rules() -> list[Object]:
    """What happens in the namespaces that are watched."""
    return [
        _rule(("get", "list", "watch", "patch"), RAY_CLUSTERS),
        {"apiGroups": [GROUP], "resources": [f"{RAY_CLUSTERS.plural}/status"], "verbs": ["patch"]},
        # Children point back to their cluster and block its foreground deletion: some servers ask for this right.
        {"apiGroups": [GROUP], "resources": [f"{RAY_CLUSTERS.plural}/finalizers"], "verbs": ["update"]},
        _rule(_OWN, PODS, SERVICES, SERVICE_ACCOUNTS),
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        # Of secrets the operator watches the metadata alone; Kubernetes has no smaller right.
        _rule((*_FOLLOW, "create", "patch"), SECRETS, PERSISTENT_VOLUME_CLAIMS),
        _rule(("create", "patch"), EVENTS),
        _rule((*_FOLLOW, "create"), JOBS),
        _rule(_OWN, INGRESSES, NETWORK_POLICIES),
        _rule(_OWN, ROLES, ROLE_BINDINGS),
        # Nobody may give a right that he has not: the autoscaler's.
        {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
        _rule(("list",), DEPLOYMENTS),
        _rule(("get", "list", "create", "update"), LEASES),
    ]


def manifests(namespaces: Sequence[str], account_namespace: str, account: str = NAME) -> list[Object]:
    """An account with these rights: in ``namespaces``, or everywhere without any."""
    made: list[Object] = [
        _object("v1", "ServiceAccount", account, account_namespace),
    ]
    if not namespaces:
        made.insert(0, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": account_namespace}})
        made.append({**_object(f"{RBAC}/v1", "ClusterRole", NAME), "rules": rules()})
        return [*made, _binding("Cluster", None, account_namespace, account)]
    for namespace in dict.fromkeys((*namespaces, account_namespace)):
        own = rules() if namespace in namespaces else [_rule(("get", "list", "create", "update"), LEASES)]
        made.append({**_object(f"{RBAC}/v1", "Role", NAME, namespace), "rules": own})
        made.append(_binding("", namespace, account_namespace, account))
    return made


def _binding(scope: str, namespace: str | None, account_namespace: str, account: str) -> Object:
    return {
        **_object(f"{RBAC}/v1", f"{scope}RoleBinding", NAME, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": f"{scope}Role", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": account_namespace}],
    }


def _object(api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _rule(verbs: Sequence[str], *resources: Resource) -> Object:
    return {
        "apiGroups": [resources[0].group],
        "resources": [resource.plural for resource in resources],
        "verbs": list(verbs),
    }
