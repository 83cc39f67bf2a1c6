"""What a Workload's status becomes, as pure functions.

Conditions, reasons and fields are Kueue's, and so is the form of the write: everything that belongs to admission, in
one server-side apply, so that real Kueue finds nothing that it does not own when it takes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from rayward.kinds.kueue import Workload, names
from rayward.kinds.kueue.workload import (
    Admission,
    CheckState,
    PodSetAssignment,
    PodSetRequest,
    RequeueState,
    WorkloadStatus,
)
from rayward.kinds.resources import WORKLOADS
from rayward.kube.core.meta import condition_of, is_true, parse_time, rfc3339, with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.engine.amounts import texts_of
from rayward.quota.engine.item import Grant, Item

_LONGEST_MESSAGE: Final = 32 * 1024

replace = msgspec.structs.replace


def said(
    workload: Workload, status: WorkloadStatus, kind: str, value: bool, reason: str, message: str, now: datetime
) -> WorkloadStatus:
    """The status with one condition set."""
    condition = Condition(
        type=kind,
        status="True" if value else "False",
        reason=reason,
        message=_shortened(message),
        observed_generation=workload.metadata.generation or None,
    )
    return replace(status, conditions=with_condition(status.conditions, condition, now))


def reserved(
    workload: Workload, queue: str, grants: Iterable[Grant], required: Iterable[str], now: datetime
) -> WorkloadStatus:
    """Quota is taken; without checks to wait for, the workload is admitted."""
    assignments = tuple(
        PodSetAssignment(grant.name, dict(grant.flavors), dict(texts_of(grant.requests)), grant.count)
        for grant in grants
    )
    status = replace(workload.status, admission=Admission(queue, assignments), resource_requests=None)
    message = f"Quota reserved in ClusterQueue {queue}"
    status = said(workload, status, names.QUOTA_RESERVED, True, "QuotaReserved", message, now)
    for kind in (names.EVICTED, names.PREEMPTED, names.BLOCKED_ON_PREEMPTION_GATES):
        before = condition_of(status.conditions, kind)
        if before is not None and before.status == "True":
            status = said(workload, status, kind, False, "QuotaReserved", f"Previously: {before.message}", now)
    known = {check.name for check in status.admission_checks or ()}
    return admission_synced(workload, status, now) if known.issuperset(required) else status


def unreserved(
    workload: Workload, reason: str, message: str, now: datetime, item: Item | None = None
) -> WorkloadStatus:
    """The workload has no quota, and why."""
    status = said(workload, workload.status, names.QUOTA_RESERVED, False, reason, message, now)
    requests = requests_of(item) if item else status.resource_requests
    status = replace(status, admission=None, resource_requests=requests)
    return admission_synced(workload, status, now)


def requests_of(item: Item) -> tuple[PodSetRequest, ...]:
    """What the pod sets ask for."""
    return tuple(PodSetRequest(demand.name, dict(texts_of(demand.total()))) for demand in item.demands)


def admission_synced(workload: Workload, status: WorkloadStatus, now: datetime) -> WorkloadStatus:
    """Admitted follows from quota and checks."""
    has_quota = is_true(status.conditions, names.QUOTA_RESERVED)
    ready = all(check.state == "Ready" for check in status.admission_checks or ())
    was = is_true(status.conditions, names.ADMITTED)
    if was == (has_quota and ready):
        return status
    if has_quota and ready:
        return said(workload, status, names.ADMITTED, True, "Admitted", "The workload is admitted", now)
    if not has_quota and not ready:
        why = ("NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready")
    elif not has_quota:
        why = ("NoReservation", "The workload has no reservation")
    else:
        why = ("UnsatisfiedChecks", "The workload has not all checks ready")
    before = condition_of(status.conditions, names.ADMITTED)
    if before is not None and before.last_transition_time:
        ran = int((now - parse_time(before.last_transition_time)).total_seconds())
        total = (status.accumulated_past_execution_time_seconds or 0) + max(0, ran)
        status = replace(status, accumulated_past_execution_time_seconds=total)
    return said(workload, status, names.ADMITTED, False, *why, now)


def evicted(
    workload: Workload, reason: str, message: str, now: datetime, *, cause: str = "", preempted: str = ""
) -> WorkloadStatus:
    """The workload has to stop; it holds its quota until its pods have.

    ``preempted`` says on what grounds others go first, ``cause`` what lies behind a deactivation or a timeout.
    """
    status = workload.status
    if preempted:
        status = said(workload, status, names.PREEMPTED, True, preempted, message, now)
    shown = f"{reason}DueTo{cause}" if reason == names.BY_DEACTIVATION and cause else reason
    status = said(workload, status, names.EVICTED, True, shown, message, now)
    checks = tuple(_reset(check, now) for check in status.admission_checks or ())
    return replace(
        status,
        admission_checks=checks or None,
        cluster_name=None,
        nominated_cluster_names=None,
        unhealthy_nodes=None,
        scheduling_stats=_counted(status.scheduling_stats, reason, cause),
    )


def finished(workload: Workload, reason: str, message: str, now: datetime) -> WorkloadStatus:
    """The workload holds nothing any longer, and never will."""
    return said(workload, workload.status, names.FINISHED, True, reason, message, now)


def backed_off(status: WorkloadStatus, base: float, longest: float, now: datetime) -> WorkloadStatus:
    """The workload waits twice as long as last time before it queues again."""
    count = (status.requeue_state.count or 0) + 1 if status.requeue_state else 1
    seconds = min(base * 2.0 ** min(count - 1, 64), longest)
    until = datetime.fromtimestamp(now.timestamp() + seconds, now.tzinfo)
    return replace(status, requeue_state=RequeueState(count, rfc3339(until)))


def without(status: WorkloadStatus, kind: str) -> WorkloadStatus:
    """The status without one condition."""
    return replace(status, conditions=without_condition(status.conditions, kind))


def apply_body(workload: Workload, status: WorkloadStatus) -> Object:
    """The whole of what admission owns, as a server-side apply of ``kueue-admission`` sends it."""
    meta = workload.metadata
    kept = {condition.type: condition for condition in status.conditions or ()}
    body: dict[str, Any] = {
        "conditions": [_condition(kept[kind]) for kind in names.ADMISSION_CONDITIONS if kind in kept],
    }
    owned = {
        "admission": status.admission,
        "requeueState": status.requeue_state,
        "resourceRequests": () if status.admission is not None else status.resource_requests,
        "admissionChecks": status.admission_checks,
        "accumulatedPastExecutionTimeSeconds": status.accumulated_past_execution_time_seconds,
        "schedulingStats": status.scheduling_stats,
        "nominatedClusterNames": status.nominated_cluster_names,
        "clusterName": status.cluster_name,
        "unhealthyNodes": status.unhealthy_nodes,
        "preemptionGates": status.preemption_gates,
    }
    body |= {name: msgspec.to_builtins(value) for name, value in owned.items() if value}
    for assignment, made in zip(
        status.admission.pod_set_assignments if status.admission else (),
        body.get("admission", {}).get("podSetAssignments", ()),
        strict=False,
    ):
        made["name"] = assignment.name
    for check in body.get("admissionChecks", ()):
        check.setdefault("message", "")
        check.setdefault("state", "Pending")
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "status": body,
    }


def _condition(condition: Condition) -> Object:
    return {"reason": condition.reason or condition.type, "message": "", **msgspec.to_builtins(condition)}


def _reset(check: CheckState, now: datetime) -> CheckState:
    if check.state == "Pending":
        return check
    return CheckState(
        name=check.name,
        state="Pending",
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        last_transition_time=rfc3339(now),
        requeue_after_seconds=check.requeue_after_seconds,
        retry_count=(check.retry_count or 0) + 1 if check.state == "Retry" else None,
    )


def _counted(stats: Mapping[str, Any] | None, reason: str, cause: str) -> Object:
    counts: list[Object] = [dict(one) for one in (stats or {}).get("evictions") or ()]
    for one in counts:
        if (one["reason"], one.get("underlyingCause", "")) == (reason, cause):
            one["count"] += 1
            return {"evictions": counts}
    return {"evictions": [*counts, {"reason": reason, "underlyingCause": cause, "count": 1}]}


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."
