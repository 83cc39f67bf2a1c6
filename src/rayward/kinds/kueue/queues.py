"""ClusterQueue, Cohort and LocalQueue: how much there is, who may borrow from whom, and where to ask."""

from __future__ import annotations

from typing import Any

from rayward.kube.core.objects import Condition, KubeObject, Slim

Amount = str | int | float
"""A quantity as sent."""


class ResourceQuota(Slim, frozen=True, gc=False):
    """The quota of one resource in one flavor."""

    name: str = ""
    nominal_quota: Amount = 0
    borrowing_limit: Amount | None = None
    """None is no limit, where there is a cohort to borrow from."""
    lending_limit: Amount | None = None
    """None lends everything that is unused."""


class FlavorQuotas(Slim, frozen=True, gc=False):
    """What there is of one flavor."""

    name: str = ""
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(Slim, frozen=True, gc=False):
    """Resources that come from one flavor together; flavors in the order in which they are tried."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class FlavorFungibility(Slim, frozen=True, gc=False):
    """When a flavor is good enough to look no further."""

    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str | None = None


class BorrowWithinCohort(Slim, frozen=True, gc=False):
    """Whether a preemptor may borrow after its preemptions."""

    policy: str = "Never"
    max_priority_threshold: int | None = None


_NO_BORROWING = BorrowWithinCohort()


class Preemption(Slim, frozen=True, gc=False):
    """Whom a workload of the queue may evict."""

    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = _NO_BORROWING
    within_cluster_queue: str = "Never"


class CheckRule(Slim, frozen=True, gc=False):
    """An admission check, and the flavors it is for; none is all."""

    name: str = ""
    on_flavors: tuple[str, ...] | None = None


class ChecksStrategy(Slim, frozen=True, gc=False):
    """The checks of a queue."""

    admission_checks: tuple[CheckRule, ...] | None = None


class FairSharing(Slim, frozen=True, gc=False):
    """The weight of a node against its siblings."""

    weight: Amount | None = None


_FUNGIBILITY = FlavorFungibility()
_PREEMPTION = Preemption()


class ClusterQueueSpec(Slim, frozen=True, gc=False):
    """What an administrator gives."""

    resource_groups: tuple[ResourceGroup, ...] | None = None
    cohort_name: str = ""
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: dict[str, Any] | None = None
    """None is no namespace, ``{}`` every one."""
    flavor_fungibility: FlavorFungibility | None = _FUNGIBILITY
    preemption: Preemption | None = _PREEMPTION
    admission_checks_strategy: ChecksStrategy | None = None
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None
    admission_scope: dict[str, Any] | None = None


class FlavorUsage(Slim, frozen=True, gc=False):
    """What is used of one flavor."""

    name: str = ""
    resources: tuple[dict[str, Any], ...] | None = None


class QueueStatus(Slim, frozen=True, gc=False):
    """What both kinds of queues report."""

    conditions: tuple[Condition, ...] | None = None
    flavors_reservation: tuple[FlavorUsage, ...] | None = None
    flavors_usage: tuple[FlavorUsage, ...] | None = None
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0


_NO_SPEC = ClusterQueueSpec()
_NO_STATUS = QueueStatus()


class ClusterQueue(KubeObject, frozen=True, gc=False):
    """Quota, and the rules by which it is given."""

    spec: ClusterQueueSpec = _NO_SPEC
    status: QueueStatus = _NO_STATUS


class CohortSpec(Slim, frozen=True, gc=False):
    """A node between queues and root: quota of its own, shared by all below it."""

    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] | None = None
    fair_sharing: FairSharing | None = None


_NO_COHORT = CohortSpec()


class Cohort(KubeObject, frozen=True, gc=False):
    """Queues that lend to each other."""

    spec: CohortSpec = _NO_COHORT


class LocalQueueSpec(Slim, frozen=True, gc=False):
    """Which ClusterQueue answers in a namespace."""

    cluster_queue: str = ""
    stop_policy: str | None = None


_NO_QUEUE = LocalQueueSpec()


class LocalQueue(KubeObject, frozen=True, gc=False):
    """A namespace's way to a ClusterQueue."""

    spec: LocalQueueSpec = _NO_QUEUE
    status: QueueStatus = _NO_STATUS
