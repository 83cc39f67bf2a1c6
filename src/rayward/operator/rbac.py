"""The least the operator must be allowed to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rayward.kube.core.rbac import PolicyRule, merged, rule
from rayward.kube.core.resource import DEPLOYMENTS, EVENTS, LEASES
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.registry import Registration

NAME: Final = "rayward-operator"
RBAC: Final = "rbac.authorization.k8s.io"

_LEASE: Final = rule(("get", "list", "create", "update"), LEASES)
_PROCESS: Final = (
    rule(("create", "patch"), EVENTS),
    # To look for KubeRay's operator before starting.
    rule(("list",), DEPLOYMENTS),
    _LEASE,
)
"""What the process needs whatever it reconciles."""


def rules(registered: Iterable[Registration], beside: Iterable[PolicyRule] = ()) -> list[Object]:
    """The rights in each namespace that is watched; ``beside`` are those of what else runs in the process."""
    return merged([*(right for entry in registered for right in entry.rules), *_PROCESS, *beside])


def manifests(
    registered: Sequence[Registration],
    namespaces: Sequence[str],
    account_namespace: str,
    account: str = NAME,
    beside: Sequence[PolicyRule] = (),
) -> list[Object]:
    """An account with these rights: in ``namespaces``, or everywhere without any."""
    made: list[Object] = [_object("v1", "ServiceAccount", account, account_namespace)]
    if account_namespace not in namespaces:
        made.insert(0, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": account_namespace}})
    if not namespaces:
        made.append({**_object(f"{RBAC}/v1", "ClusterRole", NAME), "rules": rules(registered, beside)})
        return [*made, _binding("Cluster", None, account_namespace, account)]
    for namespace in dict.fromkeys((*namespaces, account_namespace)):
        own = rules(registered, beside) if namespace in namespaces else merged([_LEASE])
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
