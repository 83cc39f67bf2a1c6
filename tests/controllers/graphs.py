"""Objects that own each other, written shortly."""

from __future__ import annotations

from rayward.kube.core.objects import OwnerReference
from rayward.kube.core.resource import Resource
from rayward.local.controllers.garbage.graph import FOREGROUND, ORPHAN, Node

PODS = Resource("", "v1", "pods", "Pod")
SETS = Resource("apps", "v1", "sets", "Set")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


def owner(name: str, resource: Resource = SETS, *, block: bool | None = None, uid: str = "") -> OwnerReference:
    return OwnerReference(resource.api_version, resource.kind, name, uid or f"uid-{name}", None, block)


def node(
    name: str,
    *owners: OwnerReference,
    resource: Resource = SETS,
    namespace: str = "x",
    deleting: bool = False,
    finalizers: tuple[str, ...] = (),
    version: str = "1",
) -> Node:
    namespace = namespace if resource.namespaced else ""
    return Node(resource, namespace, name, f"uid-{name}", version, owners, finalizers, deleting)


def foreground(name: str, *owners: OwnerReference, resource: Resource = SETS) -> Node:
    return node(name, *owners, resource=resource, deleting=True, finalizers=(FOREGROUND,))


def orphaning(name: str, *owners: OwnerReference, resource: Resource = SETS) -> Node:
    return node(name, *owners, resource=resource, deleting=True, finalizers=(ORPHAN,))
