"""Node and Namespace, as far as they are read."""

from __future__ import annotations

from rayward.kube.core.objects import Condition, KubeObject, Slim


class Taint(Slim, frozen=True, gc=False):
    """What keeps pods off a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Slim, frozen=True, gc=False):
    """The part of a node's spec that scheduling reads."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeAddress(Slim, frozen=True, gc=False):
    """One address of a node."""

    type: str = ""
    address: str = ""


class NodeStatus(Slim, frozen=True, gc=False):
    """What a node has and how it is; quantities are text."""

    allocatable: dict[str, str] | None = None
    capacity: dict[str, str] | None = None
    addresses: tuple[NodeAddress, ...] | None = None
    conditions: tuple[Condition, ...] | None = None


_NO_SPEC = NodeSpec()
_NO_STATUS = NodeStatus()


class Node(KubeObject, frozen=True, gc=False):
    spec: NodeSpec = _NO_SPEC
    status: NodeStatus = _NO_STATUS


class NamespaceStatus(Slim, frozen=True, gc=False):
    """Whether a namespace is going away."""

    phase: str = ""


_ACTIVE = NamespaceStatus()


class Namespace(KubeObject, frozen=True, gc=False):
    status: NamespaceStatus = _ACTIVE
