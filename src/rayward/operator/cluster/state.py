"""What decisions about a RayCluster read and return.

``State`` is the cluster, what its spec asks for and what was observed; ``Decision`` is the writes in their order, the
events and the status that follow from it. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from rayward.kinds.raycluster import RayCluster, RayClusterStatus, WorkerGroup
from rayward.kube.core.job import Job
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import Object
from rayward.operator.cluster.desired import Desired
from rayward.operator.cluster.gate import OPEN, Gate
from rayward.operator.cluster.pod import RayPod

Logs = Mapping[tuple[str, str], tuple[int, str]]
"""By pod uid and container: the restart count at which the log was read, and the end of the log."""


@dataclass(frozen=True, slots=True)
class PodWarning:
    """The last warning event of a pod whose containers are not created."""

    reason: str
    message: str
    asked: int
    """How often the server was asked for it."""
    at: datetime


Warnings = Mapping[str, PodWarning]
"""By pod uid; with an empty reason where there was none yet."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists, as one read of the caches found it."""

    pods: tuple[RayPod, ...] = ()
    """The cluster's own, in the order they came; those that this process deleted count as terminating."""
    predecessor_pods: tuple[RayPod, ...] = ()
    """Pods of a deleted RayCluster that had the same name."""
    owned: Mapping[tuple[Resource, str], KubeObject] = field(default_factory=dict[tuple[Resource, str], KubeObject])
    services: tuple[Service, ...] = ()
    claim: KubeObject | None = None
    cleanup_job: Job | None = None
    logs: Logs = field(default_factory=dict[tuple[str, str], tuple[int, str]])
    warnings: Warnings = field(default_factory=dict[str, PodWarning])
    waited: float | None = None
    """Seconds since there is progress that the status does not show yet."""
    ray_version: str = ""
    """The Ray that the head runs, by its own word; empty until it was asked."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a decision reads but the time."""

    cluster: RayCluster
    observed: Observed
    desired: Desired
    gate: Gate = OPEN


@dataclass(frozen=True, slots=True)
class CreatePod:
    """A pod to create. Whoever creates it chooses the random end of its name, once for each slot."""

    group: WorkerGroup | None
    """None for the head."""
    replica: int = 0
    host: int = 0
    replica_name: str = ""
    """The replica that the pod completes; empty for a new one, whose name is chosen like the pod's."""

    @property
    def slot(self) -> tuple[str, int, int]:
        """Group, replica and host: two pods with one slot would be one too many."""
        return (self.group.group_name if self.group else "", self.replica, self.host)


@dataclass(frozen=True, slots=True)
class Create:
    """An object with a fixed name to create."""

    resource: Resource
    body: Object


@dataclass(frozen=True, slots=True)
class CreateSecret:
    """The secret with the cluster's token: whoever creates it chooses the token."""

    name: str


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch from an object to what the spec asks for."""

    resource: Resource
    name: str
    uid: str
    body: Object
    replaceable: bool = False
    """Whether the object may be deleted and created again where a field turns out to be immutable."""


@dataclass(frozen=True, slots=True)
class Delete:
    """An object, by its uid, to delete."""

    resource: Resource
    name: str
    uid: str
    pod: RayPod | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SetFinalizers:
    """The finalizers of the cluster itself, set if it has not changed since it was read."""

    finalizers: tuple[str, ...]


Write = CreatePod | CreateSecret | Create | Patch | Delete | SetFinalizers


@dataclass(frozen=True, slots=True)
class Event:
    """An event about the cluster."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The end of a terminated container's log: read once for each restart."""

    pod: str
    uid: str
    container: str
    restarts: int


@dataclass(frozen=True, slots=True)
class WarningRequest:
    """A pod that no container status says anything about: only events tell that a volume cannot be mounted."""

    pod: str
    uid: str
    asked: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A write that the server did not accept."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do. A stage begins when the one before it is done; the writes of one stage are sent at once."""

    stages: tuple[tuple[Write, ...], ...] = ()
    events: tuple[Event, ...] = ()
    """Emitted once for each generation, however often the decision repeats them."""
    status: RayClusterStatus | None = None
    """To write if there is nothing else to write; None if the status is up to date."""
    logs: tuple[LogRequest, ...] = ()
    warning: WarningRequest | None = None
    batches_status: bool = False
    """Whether there is progress that the status shows later, together with more of it."""
    requeue_after: float | None = None

    @property
    def writes(self) -> bool:
        """Whether anything but the status is to be written."""
        return any(self.stages)


NOTHING: Final = Decision()
