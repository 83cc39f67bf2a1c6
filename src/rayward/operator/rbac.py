"""The least the operator must be allowed to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rayward.kinds.resources import GROUP, RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.resource import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
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

_KINDS: Final = (RAY_CLUSTERS, RAY_SERVICES)
_FOLLOW: Final = ("get", "list", "watch")
_OWN: Final = (*_FOLLOW, "create", "patch", "delete")


def rules() -> list[Object]:
    """What happens in the namespaces that are watched."""
    return [
        _rule(_OWN, RAY_CLUSTERS),
        _rule((*_FOLLOW, "patch"), RAY_SERVICES),
        {"apiGroups": [GROUP], "resources": [f"{kind.plural}/status" for kind in _KINDS], "verbs": ["patch"]},
        # Children point back to their owner and block its foreground deletion: some servers ask for this right.
        {"apiGroups": [GROUP], "resources": [f"{kind.plural}/finalizers" for kind in _KINDS], "verbs": ["update"]},
        _rule(_OWN, PODS, SERVICES, SERVICE_ACCOUNTS),
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        # Dashboards, where they are reached through the API server: the verb follows the request's method.
        {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get", "update"]},
        _rule(_FOLLOW, ENDPOINT_SLICES),
        # Of secrets the operator watches the metadata, and reads the tokens of its own clusters; Kubernetes has no
        # smaller right.
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
    made: list[Object] = [_object("v1", "ServiceAccount", account, account_namespace)]
    if account_namespace not in namespaces:
        made.insert(0, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": account_namespace}})
    if not namespaces:
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
