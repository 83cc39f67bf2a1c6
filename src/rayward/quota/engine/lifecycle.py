"""What a Workload needs beside being scheduled: checks, stops, timeouts, back-off, deactivation.

One decision at a time: the write it leads to brings the workload back for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from rayward.kinds.kueue import LocalQueue, Workload, names
from rayward.kinds.kueue.workload import CheckState, RequeueState, WorkloadStatus
from rayward.kube.core.meta import parse_time, rfc3339
from rayward.quota.engine import status as to
from rayward.quota.engine.inventory import QueueState
from rayward.quota.engine.status import replace

_BY_BACKOFF: Final = (names.BY_PODS_READY_TIMEOUT, names.BY_ADMISSION_CHECK)
INADMISSIBLE: Final = "Inadmissible"


@dataclass(frozen=True, slots=True)
class PodsReady:
    """Kueue's waitForPodsReady, in seconds."""

    timeout: float = 300.0
    recovery_timeout: float | None = None
    backoff_base: float = 60.0
    backoff_limit: int | None = None
    backoff_longest: float = 3600.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the next update of a Workload depends on."""

    local_queue: LocalQueue | None
    cluster_queue: str
    """Where it waits or holds quota; empty when its LocalQueue is not there."""
    state: QueueState
    stopped: str
    """The ClusterQueue's stop policy."""
    checks: tuple[str, ...]
    """Those that it has to pass."""
    refused: str = ""
    """Why it is not queued at all."""
    pods_ready: PodsReady | None = None


@dataclass(frozen=True, slots=True)
class Event:
    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Update:
    """A new status, or None; whether to deactivate the workload; when to look again."""

    status: WorkloadStatus | None = None
    deactivate: bool = False
    again: float | None = None
    """In so many seconds."""
    event: Event | None = None


_NOTHING: Final = Update()


def next_update(workload: Workload, around: Surroundings, now: datetime) -> Update:
    """What to do about a workload now."""
    if workload.finished or workload.deleting:
        return _NOTHING
    if (until := _retry_until(workload, now)) is not None:
        count = workload.status.requeue_state.count if workload.status.requeue_state else None
        return Update(replace(workload.status, requeue_state=RequeueState(count, rfc3339(until))))
    found = _activity(workload, now) or _restarts(workload, around, now) or _checks(workload, around, now)
    if found is not None:
        return found
    return _of_holder(workload, around, now) if workload.reserved else _of_waiting(workload, around, now)


def _retry_until(workload: Workload, now: datetime) -> datetime | None:
    latest: datetime | None = None
    for check in workload.status.admission_checks or ():
        if check.state == "Retry" and check.requeue_after_seconds and check.last_transition_time:
            since = parse_time(check.last_transition_time)
            until = datetime.fromtimestamp(since.timestamp() + check.requeue_after_seconds, now.tzinfo)
            latest = until if latest is None or until > latest else latest
    known = workload.status.requeue_state.requeue_at if workload.status.requeue_state else None
    if latest is None or latest <= now or (known and parse_time(known) >= latest):
        return None
    return latest


def _activity(workload: Workload, now: datetime) -> Update | None:
    status = workload.status
    if not workload.spec.active:
        return _deactivated(workload, now)
    if workload.holds(names.DEACTIVATION_TARGET):
        return Update(deactivate=True)
    requeue = status.requeue_state
    if requeue is not None and requeue.requeue_at:
        left = (parse_time(requeue.requeue_at) - now).total_seconds()
        if left > 0:
            return Update(again=left)
        if not workload.reserved and not _is_held_back(workload):
            return Update(replace(status, requeue_state=replace(requeue, requeue_at=None)))
    back = workload.condition(names.REQUEUED)
    if back is None or back.status != "False":
        return None
    if back.reason.startswith(names.BY_DEACTIVATION):
        message = "The workload was reactivated"
        return Update(to.said(workload, status, names.REQUEUED, True, names.REACTIVATED, message, now))
    if back.reason in _BY_BACKOFF:
        if requeue is not None:
            status = replace(status, requeue_state=replace(requeue, requeue_at=None))
        message = "The workload backoff was finished"
        return Update(to.said(workload, status, names.REQUEUED, True, names.BACKOFF_FINISHED, message, now))
    return None


def _is_held_back(workload: Workload) -> bool:
    back = workload.condition(names.REQUEUED)
    return back is not None and back.status == "False"


def _deactivated(workload: Workload, now: datetime) -> Update:
    target = workload.condition(names.DEACTIVATION_TARGET)
    message = "The workload is deactivated"
    if not workload.evicted:
        cause = ""
        if target is not None:
            cause, message = target.reason, f"{message} due to {target.message}"
        status = to.evicted(workload, names.BY_DEACTIVATION, message, now, cause=cause)
        status = replace(to.without(status, names.DEACTIVATION_TARGET), requeue_state=None)
        return Update(status, event=Event("Normal", f"EvictedDueTo{names.BY_DEACTIVATION}", message))
    if workload.status.requeue_state is not None:
        return Update(replace(workload.status, requeue_state=None))
    return _NOTHING


def _restarts(workload: Workload, around: Surroundings, now: datetime) -> Update | None:
    back = workload.condition(names.REQUEUED)
    if back is None or back.status != "False":
        return None
    local = around.local_queue
    if back.reason == names.BY_LOCAL_QUEUE_STOPPED and local is not None and not _stops(local.spec.stop_policy):
        message = "The LocalQueue was restarted after being stopped"
        reason = names.LOCAL_QUEUE_RESTARTED
    elif back.reason == names.BY_CLUSTER_QUEUE_STOPPED and around.cluster_queue and not _stops(around.stopped):
        message = "The ClusterQueue was restarted after being stopped"
        reason = names.CLUSTER_QUEUE_RESTARTED
    else:
        return None
    return Update(to.said(workload, workload.status, names.REQUEUED, True, reason, message, now))


def _checks(workload: Workload, around: Surroundings, now: datetime) -> Update | None:
    if not around.cluster_queue:
        return None
    status = workload.status
    known = {check.name: check for check in status.admission_checks or ()}
    wanted = tuple(sorted(around.checks))
    if tuple(sorted(known)) != wanted:
        fresh = rfc3339(now)
        checks = tuple(known.get(name) or CheckState(name, last_transition_time=fresh) for name in wanted)
        status = replace(status, admission_checks=checks or None)
        return Update(to.admission_synced(workload, status, now) if workload.reserved else status)
    if not workload.evicted:
        synced = to.admission_synced(workload, status, now)
        if synced != status:
            message = f"Admitted by ClusterQueue {around.cluster_queue}"
            event = Event("Normal", "Admitted", message) if not workload.admitted else None
            return Update(synced, event=event)
    return None


def _of_holder(workload: Workload, around: Surroundings, now: datetime) -> Update:
    if workload.evicted:
        return _NOTHING
    rejected = [check for check in workload.status.admission_checks or () if check.state == "Rejected"]
    if rejected:
        message = _checks_text(rejected, "Rejected")
        status = to.said(
            workload, workload.status, names.DEACTIVATION_TARGET, True, names.BY_ADMISSION_CHECK, message, now
        )
        return Update(status, event=Event("Warning", "AdmissionCheckRejected", f"Deactivated due to {message}"))
    if retried := [check for check in workload.status.admission_checks or () if check.state == "Retry"]:
        return _evicted(workload, names.BY_ADMISSION_CHECK, f"Evicted due to {_checks_text(retried, 'Retry')}", now)
    local = around.local_queue
    if local is not None and local.spec.stop_policy == "HoldAndDrain":
        return _evicted(workload, names.BY_LOCAL_QUEUE_STOPPED, "The LocalQueue is stopped", now)
    if around.stopped == "HoldAndDrain":
        return _evicted(workload, names.BY_CLUSTER_QUEUE_STOPPED, "The ClusterQueue is stopped", now)
    if not workload.admitted and around.state.reason in ("Stopped", "Terminating"):
        message = f"ClusterQueue {around.cluster_queue} is {around.state.reason.lower()}"
        return Update(to.unreserved(workload, INADMISSIBLE, message, now))
    return _in_time(workload, around, now)


def _in_time(workload: Workload, around: Surroundings, now: datetime) -> Update:
    ready, cause = _ready_within(workload, around.pods_ready, now)
    running = _runs_for(workload, now)
    if ready is not None and ready <= 0 and around.pods_ready is not None:
        return _not_ready(workload, around.pods_ready, cause, now)
    if running is not None and running <= 0 and not workload.holds(names.DEACTIVATION_TARGET):
        reason, message = "MaximumExecutionTimeExceeded", "exceeding the maximum execution time"
        status = to.said(workload, workload.status, names.DEACTIVATION_TARGET, True, reason, message, now)
        status = replace(status, accumulated_past_execution_time_seconds=None)
        limit = workload.spec.maximum_execution_time_seconds
        return Update(status, event=Event("Warning", reason, f"The maximum execution time ({limit}s) exceeded"))
    waits = [seconds for seconds in (ready, running) if seconds is not None and seconds > 0]
    return Update(again=min(waits)) if waits else _NOTHING


def _ready_within(workload: Workload, rule: PodsReady | None, now: datetime) -> tuple[float | None, str]:
    """How long pods still have to become ready, and what they are waited for."""
    if rule is None or not workload.admitted or workload.holds(names.PODS_READY):
        return None, ""
    ready = workload.condition(names.PODS_READY)
    if ready is not None and ready.reason == "WaitForRecovery":
        if rule.recovery_timeout is None:
            return None, ""
        return rule.recovery_timeout - _since(ready.last_transition_time, now), "WaitForRecovery"
    admitted = workload.condition(names.ADMITTED)
    return rule.timeout - _since(admitted.last_transition_time if admitted else None, now), "WaitForStart"


def _not_ready(workload: Workload, rule: PodsReady, cause: str, now: datetime) -> Update:
    tried = (workload.status.requeue_state.count or 0) if workload.status.requeue_state else 0
    if rule.backoff_limit is not None and tried >= rule.backoff_limit:
        reason, message = "RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries"
        status = to.said(workload, workload.status, names.DEACTIVATION_TARGET, True, reason, message, now)
        return Update(status, event=Event("Warning", reason, f"The workload is deactivated due to {message}"))
    found = _evicted(
        workload, names.BY_PODS_READY_TIMEOUT, f"Exceeded the PodsReady timeout {workload.key}", now, cause
    )
    if found.status is None:
        return found
    status = to.backed_off(found.status, rule.backoff_base, rule.backoff_longest, now)
    return Update(status, event=found.event)


def _runs_for(workload: Workload, now: datetime) -> float | None:
    limit = workload.spec.maximum_execution_time_seconds
    admitted = workload.condition(names.ADMITTED)
    if limit is None or admitted is None or admitted.status != "True":
        return None
    past = workload.status.accumulated_past_execution_time_seconds or 0
    return limit - past - _since(admitted.last_transition_time, now)


def _of_waiting(workload: Workload, around: Surroundings, now: datetime) -> Update:
    """Why it is not even queued; what quota says is said by whoever tries it."""
    name, local = workload.spec.queue_name, around.local_queue
    if around.refused:
        message = around.refused
    elif local is None:
        message = f"LocalQueue {name} doesn't exist"
    elif _stops(local.spec.stop_policy):
        message = f"LocalQueue {name} is inactive"
    elif around.state.reason == "NotFound":
        message = f"ClusterQueue {local.spec.cluster_queue} doesn't exist"
    elif not around.state.active:
        message = f"ClusterQueue {around.cluster_queue} is inactive"
    else:
        return _NOTHING
    known = workload.condition(names.QUOTA_RESERVED)
    if known is not None and (known.reason, known.message) == (INADMISSIBLE, message):
        return _NOTHING
    status = to.unreserved(workload, INADMISSIBLE, message, now)
    return Update(status, event=Event("Warning", INADMISSIBLE, message))


def _evicted(workload: Workload, reason: str, message: str, now: datetime, cause: str = "") -> Update:
    event = Event("Normal", f"EvictedDueTo{reason}", message)
    return Update(to.evicted(workload, reason, message, now, cause=cause), event=event)


def _checks_text(checks: list[CheckState], state: str) -> str:
    shown = "; ".join(f"{check.name}: {check.message}" if check.message else check.name for check in checks)
    return f"admission check(s) in state {state}: {shown}"


def _stops(policy: str | None) -> bool:
    return policy in ("Hold", "HoldAndDrain")


def _since(moment: str | None, now: datetime) -> float:
    return (now - parse_time(moment)).total_seconds() if moment else 0.0
