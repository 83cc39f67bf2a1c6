"""The parts of a local stack as users of its API server: who each is, and the least it must be allowed to do.

Their roles are those of Kubernetes' own components where these are no wider than what ours do; what ours do beyond them
is in a role of its own. The node has no role of Kubernetes: ``system:node`` leans on an authorizer that knows which
objects the pods of a node name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rayward.kube.machinery.jsonvalue import Object, section
from rayward.local.apiserver.identity import EVERYBODY, NODE, PART, User
from rayward.local.apiserver.rbac.reconcile import AUTOUPDATE

_GROUP: Final = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Part:
    """A process of the stack that talks to the server."""

    name: str
    user: User
    roles: tuple[str, ...]
    """Default cluster roles of Kubernetes that it has."""
    rules: tuple[Object, ...]
    """What it does besides."""


def _rule(group: str, resources: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": list(verbs)}


_CONTROLLERS: Final = (
    "clusterrole-aggregation-controller",
    "deployment-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "generic-garbage-collector",
    "job-controller",
    "namespace-controller",
    "persistent-volume-binder",
    "pv-protection-controller",
    "pvc-protection-controller",
    "replicaset-controller",
    "root-ca-cert-publisher",
    "service-account-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)

PARTS: Final = (
    Part(
        "controllers",
        User(f"{PART}controllers", groups=(EVERYBODY,)),
        tuple(f"system:controller:{name}" for name in _CONTROLLERS),
        # the class of claims that name none
        (_rule("storage.k8s.io", "storageclasses", "create"),),
    ),
    Part(
        "node",
        NODE,
        (),
        (
            _rule("", "pods", "delete", "list", "watch"),
            _rule("", "pods/status", "patch"),
            _rule("", "pods/binding", "create"),
            # nodes of an earlier start, that this one has no more, are deleted
            _rule("", "nodes", "create", "delete", "get", "list", "patch", "watch"),
            _rule("", "nodes/status", "patch"),
            _rule("", "configmaps secrets services persistentvolumeclaims", "list", "watch"),
            _rule("", "persistentvolumeclaims persistentvolumes", "get"),
            # for pods that run here alone: noderestriction
            _rule("", "serviceaccounts/token", "create"),
            _rule("", "events", "create", "patch"),
            # those of other nodes say which are alive
            _rule("coordination.k8s.io", "leases", "create", "list", "patch", "watch"),
            _rule("authentication.k8s.io", "tokenreviews", "create"),
            _rule("authorization.k8s.io", "subjectaccessreviews", "create"),
        ),
    ),
    Part(
        "traffic",
        User(f"{PART}traffic", groups=(EVERYBODY,)),
        ("system:node-proxier",),
        (_rule("", "services services/status", "patch"),),
    ),
    # no process of ours: whoever scrapes this stack reaches the metrics of pods through the server
    Part(
        "monitoring",
        User(f"{PART}monitoring", groups=(EVERYBODY,)),
        (),
        (
            _rule("", "pods/proxy", "get"),
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ),
    ),
)


def policy() -> dict[str, list[Object]]:
    """The roles and bindings of the parts, by plural name of their resource."""
    roles: list[Object] = []
    bindings: list[Object] = []
    for part in PARTS:
        own = f"{PART}{part.name}"
        if part.rules:
            roles.append({"metadata": _metadata(own), "rules": list(part.rules)})
            bindings.append(_binding(own, own, part.user))
        bindings.extend(_binding(f"{own}:{role.rpartition(':')[2]}", role, part.user) for role in part.roles)
    return {"clusterroles": roles, "clusterrolebindings": bindings}


def is_ours(obj: Object) -> bool:
    """Whether a role or binding was made from a policy of these parts, by this version or an older one."""
    metadata = obj["metadata"]
    return metadata["name"].startswith(PART) and section(metadata, "annotations").get(AUTOUPDATE) == "true"


def _metadata(name: str) -> Object:
    return {"name": name, "annotations": {AUTOUPDATE: "true"}}


def _binding(name: str, role: str, user: User) -> Object:
    return {
        "metadata": _metadata(name),
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": user.name}],
    }
