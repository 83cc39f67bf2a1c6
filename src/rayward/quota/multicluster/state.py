"""What is read of one RayService and of its copies on worker clusters, and what is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rayward.kinds.kueue import Workload
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.gate.demand import Demand

CheckAnswer = Literal["Pending", "Ready", "Retry"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What the RayService of the manager cluster asks for."""

    release: str
    """The hash of its cluster's templates: another one is a new RayCluster."""
    demand: Demand
    body: Object
    """The RayService as a worker cluster is to have it."""
    digest: str
    """Of ``body``."""


@dataclass(frozen=True, slots=True)
class RemoteService:
    """The RayService of a worker cluster."""

    uid: str
    ours: bool
    """Whether it is a copy of this very RayService of the manager cluster."""
    release: str
    forwarded: str
    """The digest of what was forwarded last."""
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker cluster, as far as it concerns one RayService."""

    name: str
    connected: bool
    """Whether what is read of it is what it has now, but for the time that a watch takes."""
    service: RemoteService | None = None
    workloads: tuple[Workload, ...] = ()
    """Those that the manager made, and slices that came of them; finished ones too."""
    clusters: tuple[RayCluster, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """One RayService of the manager cluster."""

    service: RayService | None
    """None once it is gone."""
    goal: Goal | None = None
    """None where the spec is invalid, or a deletion is under way."""
    problem: tuple[str, str] | None = None
    """Reason and message of why there is no goal."""
    queue: str = ""
    priority: tuple[int, str] = (0, "")
    claims: tuple[Workload, ...] = ()
    """Workloads of the manager cluster that ask quota for this RayService, oldest first."""
    checks: frozenset[str] = frozenset()
    """The AdmissionChecks that this controller answers."""
    allowed: tuple[str, ...] = ()
    """Worker clusters that the check's configuration names, in its order."""
    workers: Mapping[str, Worker] = field(default_factory=dict[str, Worker])
    """By name; those too that no configuration names any more."""
    pinned: str = ""
    """The worker cluster that the RayService runs on."""


@dataclass(frozen=True, slots=True)
class SetFinalizer:
    """Put the finalizer on the RayService, or take it off."""

    present: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """Write down on which worker cluster the RayService runs, before it does."""

    worker: str


@dataclass(frozen=True, slots=True)
class CreateClaim:
    """Ask the manager cluster for quota."""

    body: Object


@dataclass(frozen=True, slots=True)
class BindClaim:
    """Write down which RayCluster of the worker cluster runs by a claim."""

    claim: Workload
    cluster_uid: str


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Answer an AdmissionCheck of a claim."""

    claim: Workload
    check: str
    answer: CheckAnswer
    message: str


@dataclass(frozen=True, slots=True)
class RequeueClaim:
    """Nothing runs by an evicted claim any more: give its quota back, and queue it again."""

    claim: Workload


@dataclass(frozen=True, slots=True)
class RecountClaim:
    """Ask for other counts in the same place, or give back what is not used any more."""

    claim: Workload
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FinishClaim:
    """A claim that is never needed again."""

    claim: Workload
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ReleaseClaim:
    """Remove the finalizer of a finished claim, and delete it."""

    claim: Workload


@dataclass(frozen=True, slots=True)
class CreateTwin:
    """Ask a worker cluster for the quota that a claim has on the manager cluster."""

    worker: str
    claim: Workload


@dataclass(frozen=True, slots=True)
class DeleteTwin:
    """Take back what a worker cluster was asked for, before any RayCluster runs by it."""

    worker: str
    twin: Workload


@dataclass(frozen=True, slots=True)
class ActivateTwin:
    """Let a twin ask for quota, or have the worker cluster evict it."""

    worker: str
    twin: Workload
    active: bool


@dataclass(frozen=True, slots=True)
class RecountTwin:
    """Have a worker cluster hold no more than the claim does, before any RayCluster runs by it."""

    worker: str
    twin: Workload
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Forward:
    """Make the RayService of a worker cluster what the manager's is."""

    worker: str
    goal: Goal


@dataclass(frozen=True, slots=True)
class DeleteService:
    """Delete the RayService of a worker cluster."""

    worker: str
    uid: str


Write = (
    SetFinalizer
    | Pin
    | CreateClaim
    | BindClaim
    | AnswerCheck
    | RequeueClaim
    | RecountClaim
    | FinishClaim
    | ReleaseClaim
    | CreateTwin
    | DeleteTwin
    | ActivateTwin
    | RecountTwin
    | Forward
    | DeleteService
)


@dataclass(frozen=True, slots=True)
class Report:
    """Where the change that the user asked for stands, as condition ``QuotaReserved`` of the RayService says it."""

    reserved: bool
    reason: str
    message: str
    current: bool = False
    """Whether the worker cluster has what the user asked for."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Writes in their order, and what to tell."""

    writes: tuple[Write, ...] = ()
    report: Report | None = None
