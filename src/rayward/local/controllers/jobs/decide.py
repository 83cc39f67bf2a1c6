"""What to do about a job: pods to make and to delete, and the status to report.

Every pod is counted once, wherever the controller is killed. A pod carries a finalizer while it is not counted. When it
has ended, its uid is written into ``status.uncountedTerminatedPods``; then the finalizer goes; and when that is seen,
one write takes the uid out and counts it. An indexed success needs no uid: its index is counted once by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from rayward.kube.core.meta import parse_time, rfc3339
from rayward.local.controllers.jobs import indexes
from rayward.local.controllers.jobs.backoff import Failures, observe, seconds_left
from rayward.local.controllers.jobs.job import (
    FINALIZER,
    JobCondition,
    JobSpec,
    JobStatus,
    SeenJob,
    Uncounted,
    with_condition,
)
from rayward.local.controllers.jobs.removal import superfluous
from rayward.local.controllers.pods import SeenPod

LARGEST: Final = 500
"""How many pods are made, deleted or counted in one go."""


class Event(msgspec.Struct, frozen=True):
    """What to tell the user once it is done."""

    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


class Decision(msgspec.Struct, frozen=True):
    """Carried out in this order: pods are made and deleted, then the status is written, then pods are released.

    A pod in ``drop`` is released before it is deleted, since it does not count; one in ``delete`` keeps its finalizer.
    """

    status: JobStatus
    failures: Failures
    create: tuple[int | None, ...] = ()
    delete: tuple[SeenPod, ...] = ()
    drop: tuple[SeenPod, ...] = ()
    release: tuple[SeenPod, ...] = ()
    events: tuple[Event, ...] = ()
    again_after: float | None = None


class _End(msgspec.Struct, frozen=True):
    failed: bool
    reason: str
    message: str


class _Sync(msgspec.Struct):
    """What has been found out so far."""

    status: JobStatus
    active: list[SeenPod]
    succeeded: int
    failures: Failures
    create: list[int | None]
    delete: list[SeenPod]
    drop: list[SeenPod]
    events: list[Event]
    waits: list[float]


def is_held(pod: SeenPod) -> bool:
    """Whether a pod still carries the finalizer."""
    return FINALIZER in (pod.metadata.finalizers or ())


def is_failed(spec: JobSpec, pod: SeenPod) -> bool:
    """Whether a pod has failed; one that is deleted counts as that, unless its end is waited for."""
    if pod.status.phase == "Failed":
        return True
    return pod.deleting and pod.status.phase != "Succeeded" and not spec.waits_for_end


def decide(job: SeenJob, pods: Sequence[SeenPod], failures: Failures, now: datetime) -> Decision:
    """What to do about a job that has not ended, given all its pods."""
    spec, status = job.spec, _counted(job.status, pods)
    uncounted = status.uncounted_terminated_pods or Uncounted()
    known = {*uncounted.succeeded, *uncounted.failed}
    new = [pod for pod in pods if is_held(pod) and pod.metadata.uid not in known and _counts(spec, pod)]
    new_failed = [pod for pod in new if is_failed(spec, pod)]
    failed = status.failed + len(uncounted.failed) + len(new_failed)
    done = _completed(spec, status, pods)
    succeeded = len(done) if spec.indexed else status.succeeded + len(uncounted.succeeded) + _successes(new)
    if status.start_time is None and not spec.suspend:
        status = msgspec.structs.replace(status, start_time=rfc3339(now))
    active = [pod for pod in pods if not pod.over and not pod.deleting]
    sync = _Sync(status, active, succeeded, observe(failures, pods, new_failed), [], [], [], [], [])
    end = _end_so_far(job, status, pods, failed, sync, now)
    if end is not None:
        sync.delete = active
    else:
        if not job.deleting:
            _manage(spec, pods, done, sync, now)
        end = _success(spec, sync)
        if end is None and not job.deleting:
            _tell_suspension(spec, sync, now)
    return _report(job, pods, done, end, sync, now)


def _counted(status: JobStatus, pods: Sequence[SeenPod]) -> JobStatus:
    """The status in which pods are counted that were written down and have lost their finalizer since."""
    uncounted = status.uncounted_terminated_pods or Uncounted()
    held = {pod.metadata.uid for pod in pods if is_held(pod)}
    left = Uncounted(
        tuple(uid for uid in uncounted.succeeded if uid in held), tuple(uid for uid in uncounted.failed if uid in held)
    )
    return msgspec.structs.replace(
        status,
        succeeded=status.succeeded + len(uncounted.succeeded) - len(left.succeeded),
        failed=status.failed + len(uncounted.failed) - len(left.failed),
        uncounted_terminated_pods=left,
    )


def _counts(spec: JobSpec, pod: SeenPod) -> bool:
    return not spec.indexed or indexes.index_of(pod, spec.completions or 0) is not None


def _successes(pods: Sequence[SeenPod]) -> int:
    return sum(pod.status.phase == "Succeeded" for pod in pods)


def _completed(spec: JobSpec, status: JobStatus, pods: Sequence[SeenPod]) -> set[int]:
    """The indexes that are done."""
    if not spec.indexed:
        return set()
    completions = spec.completions or 0
    ended = (pod for pod in pods if pod.status.phase == "Succeeded" and is_held(pod))
    new = {index for pod in ended if (index := indexes.index_of(pod, completions)) is not None}
    return indexes.parse(status.completed_indexes, completions) | new


def _end_so_far(
    job: SeenJob, status: JobStatus, pods: Sequence[SeenPod], failed: int, sync: _Sync, now: datetime
) -> _End | None:
    for kind, is_failure in (("SuccessCriteriaMet", False), ("FailureTarget", True)):
        if (found := status.condition(kind)) is not None:
            return _End(is_failure, found.reason, found.message)
    spec = job.spec
    if (unknown := _unsupported(spec)) is not None:
        text = f"spec.{unknown} is not available in this cluster; remove it and create the Job again"
        return _End(True, "FeatureNotAvailable", text)
    if failed > spec.backoff_limit or _restarted_too_often(spec, pods):
        return _End(True, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if spec.active_deadline_seconds is None or status.start_time is None or spec.suspend:
        return None
    left = parse_time(status.start_time) + timedelta(seconds=spec.active_deadline_seconds) - now
    if left <= timedelta():
        return _End(True, "DeadlineExceeded", "Job was active longer than specified deadline")
    sync.waits.append(left.total_seconds())
    return None


def _unsupported(spec: JobSpec) -> str | None:
    fields = {
        "podFailurePolicy": spec.pod_failure_policy,
        "successPolicy": spec.success_policy,
        "backoffLimitPerIndex": spec.backoff_limit_per_index,
    }
    return next((name for name, value in fields.items() if value is not None), None)


def _restarted_too_often(spec: JobSpec, pods: Sequence[SeenPod]) -> bool:
    if spec.template.spec.restart_policy != "OnFailure":
        return False
    running = (pod.status for pod in pods if pod.status.phase in ("Running", "Pending"))
    restarts = sum(
        found.restart_count
        for status in running
        for found in (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    )
    return restarts > 0 if spec.backoff_limit == 0 else restarts >= spec.backoff_limit


def _manage(spec: JobSpec, pods: Sequence[SeenPod], done: set[int], sync: _Sync, now: datetime) -> None:
    """Have as many pods as are wanted: in one go either some are deleted or some are made."""
    active = sync.active
    if spec.suspend:
        sync.drop = active[:]
        return
    wanted = _wanted(spec, len(active), sync.succeeded)
    sync.drop = superfluous(spec, active, len(active) - wanted)[:LARGEST]
    if sync.drop:
        return
    going = [pod for pod in pods if pod.deleting and not pod.over] if spec.waits_for_end else []
    missing = min(wanted - len(active) - len(going), LARGEST)
    if missing <= 0:
        return
    if (wait := seconds_left(sync.failures, now)) > 0:
        sync.waits.append(wait)
        return
    if not spec.indexed:
        sync.create = [None] * missing
        return
    completions = spec.completions or 0
    taken = done | {index for pod in (*active, *going) if (index := indexes.index_of(pod, completions)) is not None}
    free = (index for index in range(completions) if index not in taken)
    sync.create = [index for index, _ in zip(free, range(missing), strict=False)]


def _wanted(spec: JobSpec, active: int, succeeded: int) -> int:
    if spec.completions is None:
        return active if succeeded > 0 else spec.parallelism
    return max(0, min(spec.completions - succeeded, spec.parallelism))


def _success(spec: JobSpec, sync: _Sync) -> _End | None:
    running = len(sync.active) - len(sync.drop) + len(sync.create)
    enough = sync.succeeded > 0 if spec.completions is None else sync.succeeded >= spec.completions
    if not enough or running:
        return None
    return _End(False, "CompletionsReached", "Reached expected number of succeeded pods")


def _tell_suspension(spec: JobSpec, sync: _Sync, now: datetime) -> None:
    state, verb = ("True", "suspended") if spec.suspend else ("False", "resumed")
    told = _condition("Suspended", state, f"Job{verb.capitalize()}", f"Job {verb}", now)
    status = with_condition(sync.status, told)
    if status is sync.status:
        return
    sync.events.append(Event("Normal", verb.capitalize(), f"Job {verb}"))
    # The deadline counts from the last start.
    sync.status = msgspec.structs.replace(status, start_time=None if spec.suspend else rfc3339(now))


def _report(
    job: SeenJob, pods: Sequence[SeenPod], done: set[int], end: _End | None, sync: _Sync, now: datetime
) -> Decision:
    spec, status = job.spec, sync.status
    uncounted = status.uncounted_terminated_pods or Uncounted()
    succeeded, failed = list(uncounted.succeeded), list(uncounted.failed)
    release: list[SeenPod] = []
    for pod in pods:
        over = pod.status.phase == "Succeeded" or is_failed(spec, pod)
        if not is_held(pod) or not (over or end is not None or job.deleting):
            continue
        if len(succeeded) + len(failed) >= LARGEST:
            break
        release.append(pod)
        uid = pod.metadata.uid
        if uid in succeeded or uid in failed or not _counts(spec, pod):
            continue
        if pod.status.phase == "Succeeded":
            if not spec.indexed:
                succeeded.append(uid)
        elif is_failed(spec, pod) or (end is not None and end.failed):
            # Of a job that failed, every pod that had not ended is counted as failed.
            failed.append(uid)
    if spec.indexed:
        status = msgspec.structs.replace(status, succeeded=len(done), completed_indexes=indexes.render(done))
    removed = {pod.metadata.uid for pod in (*sync.delete, *sync.drop)}
    kept = [pod for pod in sync.active if pod.metadata.uid not in removed]
    terminating = len(removed) + sum(pod.deleting and not pod.over for pod in pods)
    status = msgspec.structs.replace(
        status,
        active=len(kept) + len(sync.create),
        ready=sum(pod.ready for pod in kept),
        terminating=terminating,
        uncounted_terminated_pods=Uncounted(tuple(succeeded), tuple(failed)),
    )
    events = sync.events
    if end is not None:
        status = _with_end(status, end, events, now, settled=not (release or succeeded or failed or terminating))
    return Decision(
        status=status,
        failures=sync.failures,
        create=tuple(sync.create),
        delete=tuple(sync.delete),
        drop=tuple(sync.drop),
        release=tuple(release),
        events=tuple(events),
        again_after=min(sync.waits, default=None),
    )


def _with_end(status: JobStatus, end: _End, events: list[Event], now: datetime, *, settled: bool) -> JobStatus:
    """The status that says how it will end, and, when all is counted and gone, that it has."""
    first, last = ("FailureTarget", "Failed") if end.failed else ("SuccessCriteriaMet", "Complete")
    if status.condition(first) is None:
        status = with_condition(status, _condition(first, "True", end.reason, end.message, now))
    if not settled:
        return status
    status = with_condition(status, _condition(last, "True", end.reason, end.message, now))
    if end.failed:
        events.append(Event("Warning", end.reason, end.message))
        # A server wants every job that failed to have begun, also one that was suspended.
        return msgspec.structs.replace(status, start_time=status.start_time or rfc3339(now))
    events.append(Event("Normal", "Completed", "Job completed"))
    return msgspec.structs.replace(status, completion_time=rfc3339(now))


def _condition(kind: str, state: str, reason: str, message: str, now: datetime) -> JobCondition:
    when = rfc3339(now)
    return JobCondition(kind, state, when, when, reason, message)
