"""Workload: what is asked for, and what was given."""

from __future__ import annotations

from typing import Any

import msgspec

from rayward.kinds.kueue import names
from rayward.kinds.kueue.queues import Amount
from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition, KubeObject, Slim


class TopologyRequest(Slim, frozen=True, gc=False):
    """Where pods must be near each other; only the group's name is honoured by the engine."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None


class PodSet(Slim, frozen=True, gc=False):
    """Pods of one shape."""

    name: str = "main"
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    count: int = 1
    min_count: int | None = None
    topology_request: TopologyRequest | None = None


class PriorityClassRef(Slim, frozen=True, gc=False):
    """Where the priority came from."""

    group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(Slim, frozen=True, gc=False):
    """What is asked for."""

    pod_sets: tuple[PodSet, ...] = ()
    queue_name: str = ""
    priority_class_ref: PriorityClassRef | None = None
    priority: int | None = None
    active: bool = True
    maximum_execution_time_seconds: int | None = None


class PodSetAssignment(Slim, frozen=True, gc=False):
    """What a pod set was given."""

    name: str = "main"
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, Amount] | None = None
    count: int | None = None
    topology_assignment: dict[str, Any] | None = None
    delayed_topology_request: str | None = None


class Admission(Slim, frozen=True, gc=False):
    """Which quota is reserved."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class RequeueState(Slim, frozen=True, gc=False):
    """How often, and until when, the workload waits outside its queue."""

    count: int | None = None
    requeue_at: str | None = None


class ReclaimablePod(Slim, frozen=True, gc=False):
    """Pods that will not run again."""

    name: str = ""
    count: int = 0


class CheckState(Slim, frozen=True, gc=False):
    """An answer of an admission check."""

    name: str = ""
    state: str = "Pending"
    last_transition_time: str | None = None
    message: str = ""
    requeue_after_seconds: int | None = None
    retry_count: int | None = None
    pod_set_updates: tuple[dict[str, Any], ...] | None = None


class PodSetRequest(Slim, frozen=True, gc=False):
    """What a waiting pod set asks for, in all."""

    name: str = ""
    resources: dict[str, Amount] | None = None


class WorkloadStatus(Slim, frozen=True, gc=False):
    """What was given, and how it came to that. Other fields are carried by whoever writes the whole status."""

    conditions: tuple[Condition, ...] | None = None
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: tuple[ReclaimablePod, ...] | None = None
    admission_checks: tuple[CheckState, ...] | None = None
    resource_requests: tuple[PodSetRequest, ...] | None = None
    accumulated_past_execution_time_seconds: int | None = None
    scheduling_stats: dict[str, Any] | None = None
    nominated_cluster_names: tuple[str, ...] | None = None
    cluster_name: str | None = None
    unhealthy_nodes: tuple[dict[str, Any], ...] | None = None
    preemption_gates: tuple[dict[str, Any], ...] | None = None


_NO_SPEC = WorkloadSpec()
_NO_STATUS = WorkloadStatus()


class Workload(KubeObject, frozen=True, gc=False):
    """A demand for quota: all of it or none."""

    spec: WorkloadSpec = _NO_SPEC
    status: WorkloadStatus = _NO_STATUS

    def condition(self, kind: str) -> Condition | None:
        """The condition of one type."""
        return condition_of(self.status.conditions, kind)

    def holds(self, kind: str) -> bool:
        """Whether the condition of one type is True."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    @property
    def finished(self) -> bool:
        """Whether it holds no quota and never will."""
        return self.holds(names.FINISHED)

    @property
    def reserved(self) -> bool:
        """Whether it holds quota."""
        return self.holds(names.QUOTA_RESERVED)

    @property
    def admitted(self) -> bool:
        """Whether its pods may run."""
        return self.holds(names.ADMITTED)

    @property
    def evicted(self) -> bool:
        """Whether its pods have to stop; it may hold quota until they have."""
        return self.holds(names.EVICTED)

    @property
    def replaces(self) -> str:
        """``namespace/name`` of the slice it replaces; empty for any other workload."""
        return self.metadata.annotation(names.SLICE_REPLACEMENT_FOR)
