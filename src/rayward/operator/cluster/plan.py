"""What a look at one cluster leads to: writes in their order, events, a status."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rayward.kinds.raycluster import RayClusterStatus, WorkerGroup
from rayward.kube.core.resource import Resource
from rayward.operator.cluster.pod import RayPod

Object = dict[str, Any]


class NewPod(msgspec.Struct, frozen=True):
    """A pod to make. Whoever makes it chooses the random end of its name, once for each slot."""

    group: WorkerGroup | None
    """None for the head."""
    replica: int = 0
    host: int = 0
    replica_name: str = ""
    """The replica it completes; empty for a new one, whose name is chosen like the pod's."""

    @property
    def slot(self) -> tuple[str, int, int]:
        """The place it fills: two pods with one slot would be one too many."""
        return (self.group.group_name if self.group else "", self.replica, self.host)


class Make(msgspec.Struct, frozen=True):
    """An object with a fixed name to make."""

    resource: Resource
    body: Object


class NewSecret(msgspec.Struct, frozen=True):
    """The secret with the token: whoever makes it chooses the token."""

    name: str


class Mend(msgspec.Struct, frozen=True):
    """A merge patch that brings an object to the spec."""

    resource: Resource
    name: str
    uid: str
    body: Object
    replaceable: bool = False
    """Whether an object that cannot be changed so may be deleted, to be made anew."""


class Remove(msgspec.Struct, frozen=True):
    """An object, this very one, to delete."""

    resource: Resource
    name: str
    uid: str
    pod: RayPod | None = None
    why: str = ""


class Finalizers(msgspec.Struct, frozen=True):
    """The cluster's own finalizers, set if it has not changed meanwhile."""

    finalizers: tuple[str, ...]


Write = NewPod | NewSecret | Make | Mend | Remove | Finalizers


class Note(msgspec.Struct, frozen=True):
    """An event to tell."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class LogWanted(msgspec.Struct, frozen=True):
    """The last words of a container that ended: read once for each restart."""

    pod: str
    uid: str
    container: str
    restarts: int


class Plan(msgspec.Struct, frozen=True):
    """What to do. Each stage begins when the one before it is done; what is in one stage goes out at once."""

    stages: tuple[tuple[Write, ...], ...] = ()
    notes: tuple[Note, ...] = ()
    """Told once for each generation, however often the plan repeats them."""
    status: RayClusterStatus | None = None
    """To write if there is nothing else to write; None if what is written is true already."""
    logs: tuple[LogWanted, ...] = ()
    waits: bool = False
    """Whether there is progress that the status tells later, together with what follows at once."""
    requeue_after: float | None = None

    @property
    def writes(self) -> bool:
        """Whether anything but the status is to be written."""
        return any(self.stages)


NOTHING = Plan()
