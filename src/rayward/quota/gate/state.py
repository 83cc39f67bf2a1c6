"""What the gate reads of one RayCluster, and what it does about it. Nothing here does anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rayward.kinds.admission import Grant
from rayward.kinds.kueue import ResourceFlavor, Workload
from rayward.kinds.raycluster import RayCluster
from rayward.quota.gate.demand import Demand, Terms


@dataclass(frozen=True, slots=True)
class PodUse:
    """A pod that uses, or will use, its resources: it is not Succeeded or Failed, and may be terminating."""

    group: str
    workload: str = ""
    """The first slice of the chain that it was admitted by; empty for one that nobody admitted."""
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """How a Workload that waits stands in its queue, as far as the gate can tell from what it watches."""

    never_fits: str = ""
    """Why waiting is of no use; empty where it may help."""
    problem: str = ""
    """Why nobody can tell: the queue is not there, or not in use."""
    message: str = ""
    """Need, have, and who holds the rest; or the problem."""
    fits_now: bool = False
    """Whether there is room for it: then only whoever admits knows why it waits."""
    waiting: int = 0
    """How many wait there, itself among them."""


@dataclass(frozen=True, slots=True)
class State:
    """One RayCluster, or what is left of those that had its name."""

    cluster: RayCluster | None = None
    """None once it is gone."""
    terms: Terms | None = None
    """None where the RayCluster is not under the gate."""
    demand: Demand | None = None
    """None where the spec cannot be counted; ``problem`` says why."""
    problem: tuple[str, str] | None = None
    """Reason and message of what keeps the RayCluster out of any queue."""
    stopped: str = ""
    """Why it is to run no pods though nobody denies it quota: the user suspended it, say."""
    grant: Grant | None = None
    """As the annotation has it."""
    acknowledged: bool = False
    """Whether the operator has reported that it acts by that very grant."""
    ready: bool = False
    """Whether the RayCluster reports that all its pods are ready."""
    workloads: tuple[Workload, ...] = ()
    """Of every RayCluster of this name, oldest first."""
    pods: Mapping[str, tuple[PodUse, ...]] = field(default_factory=dict[str, tuple[PodUse, ...]])
    """By the uid of the RayCluster; by none those that were orphaned."""
    lingering: frozenset[str] = frozenset()
    """Workloads of pods that belong to the RayCluster and not to its groups: a cleanup job's, a submitter's. A pod that
    names none counts for all."""
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict[str, ResourceFlavor])
    prebuilt: tuple[Workload, ...] | None = None
    """Workloads that a manager cluster made for RayClusters of this RayService, and by which none runs yet; None where
    no manager cluster has quota to give."""
    standing: Standing = field(default_factory=Standing)
    """Of the Workload that waits, if one does."""
    job: str = ""
    """The RayJob that made the cluster; such a cluster is not stopped and started again, its job is."""
    job_suspended: bool = False
    told_lately: bool = False
    """Whether the words of the grant are so fresh that other numbers alone are not worth a write."""
    upgrade_of: str = ""
    """The RayService that goes on with another cluster if this one is given up; empty where none serves."""
    rejects: bool = False
    """Whether the upgrade is given up if it can never fit."""
    overdue: str = ""
    """Why the upgrade is given up though it may fit: it has waited too long."""


@dataclass(frozen=True, slots=True)
class WriteGrant:
    """Let the RayCluster run what ``grant`` says."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class CreateWorkload:
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PatchWorkload:
    """Ask for more, less or something else, in the same place."""

    workload: Workload
    change: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unreserve:
    """An evicted Workload's pods are gone: give its quota back, and queue it again."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class ReportReady:
    """All pods of an admitted Workload are ready: whoever admits may evict those that are not in time."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class FinishWorkload:
    """It will never need quota again."""

    workload: Workload
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ReleaseWorkload:
    """Remove the finalizer, and delete what is finished."""

    workload: Workload
    delete: bool


@dataclass(frozen=True, slots=True)
class SuspendJob:
    """Suspend a RayJob in the gate's name; ``mark`` is False where the gate is not to resume it."""

    name: str
    mark: bool = True


@dataclass(frozen=True, slots=True)
class AbortUpgrade:
    """Give up an upgrade that can never fit, or that waited too long."""

    service: str
    cluster: str
    reason: str
    message: str


Write = (
    AbortUpgrade
    | WriteGrant
    | CreateWorkload
    | PatchWorkload
    | Unreserve
    | ReportReady
    | FinishWorkload
    | ReleaseWorkload
    | SuspendJob
)


@dataclass(frozen=True, slots=True)
class Event:
    """An event about the RayCluster."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Writes in their order: a grant that shrinks is written before anything is given back."""

    writes: tuple[Write, ...] = ()
    events: tuple[Event, ...] = ()
    violation: bool = False
    """Whether pods ran, or were let run, without quota."""
