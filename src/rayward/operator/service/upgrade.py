"""The pending cluster: wait until it is ready, then switch traffic to it or give it up."""

from __future__ import annotations

from datetime import datetime

from rayward.kinds import labels
from rayward.kube.core.meta import rfc3339
from rayward.operator.service.readiness import UNKNOWN, config_not_sent, overdue, progress_of, readiness_of
from rayward.operator.service.state import (
    AnnotationChange,
    ChildCluster,
    Decision,
    Failure,
    Policy,
    Readiness,
    Release,
    Stage,
)

_INITIALIZING_TIMEOUT = "InitializingTimeout"
_TIMED_OUT = "RayService failed to become ready within the configured timeout"
"""KubeRay's words: its own end-to-end test looks for them."""


def decide(
    pending: ChildCluster, active: ChildCluster | None, release: Release, policy: Policy, now: datetime
) -> Decision:
    """The next step of ``pending``, which does not serve yet."""
    keep = pending.delete_at is not None
    if pending.config != release.config:
        change = AnnotationChange(pending.name, config=release.config, keep=keep)
        return Decision(active=active, pending=pending, annotate=(change,), readiness=config_not_sent(pending))
    readiness = readiness_of(pending)
    if readiness.stage is Stage.READY and active is not None and policy.wait_for_workers and pending.missing:
        readiness = _workers_missing(pending)
    # A cluster that was to be deleted and is wanted again starts anew.
    moved = keep or progress_of(pending) != pending.progress
    if readiness.stage is Stage.READY and not _is_paused(pending, policy):
        # A cluster that takes requests and has no such annotation would be deleted as one that never did.
        change = AnnotationChange(pending.name, promoted=True, good_config=pending.config, keep=keep)
        return Decision(
            active=active, pending=pending, annotate=(change,), traffic={pending.name: 100}, readiness=readiness
        )
    failure = _failure(pending, active, readiness, policy, now, moved=moved)
    if failure is not None and (active is not None or failure.reason == _INITIALIZING_TIMEOUT):
        return _give_up(pending, active, failure, policy, readiness, now)
    if readiness.stage is Stage.READY:
        message = f"{readiness.message}; the switch is paused by annotation {labels.PAUSE}"
        readiness = Readiness(Stage.WAITING, "Paused", message)
    return Decision(
        active=active,
        pending=pending,
        annotate=(AnnotationChange(pending.name, progress=progress_of(pending), keep=keep),) if moved else (),
        failure=failure,
        readiness=readiness,
        requeue_at=_deadline(pending, active, policy),
    )


def _workers_missing(pending: ChildCluster) -> Readiness:
    """Traffic that several pods had would go to fewer; a first release serves with what there is."""
    message = f"RayCluster {pending.name} takes no traffic until all of its workers run: {pending.missing} "
    message += f"(annotation {labels.WAIT_FOR_WORKERS}=false switches without them)"
    return Readiness(Stage.WAITING, "WorkersMissing", message)


def _is_paused(pending: ChildCluster, policy: Policy) -> bool:
    return policy.paused and policy.promote not in {"true", pending.name}


def _failure(
    pending: ChildCluster,
    active: ChildCluster | None,
    readiness: Readiness,
    policy: Policy,
    now: datetime,
    *,
    moved: bool,
) -> Failure | None:
    if readiness.stage is Stage.FAILED:
        return Failure(readiness.reason, readiness.message, readiness.detail)
    timeout = policy.initializing_timeout if active is None else None
    if timeout and pending.released and now - pending.released >= timeout:
        seconds = int(timeout.total_seconds())
        return Failure(_INITIALIZING_TIMEOUT, f"{_TIMED_OUT} of {seconds} s: {readiness.message}")
    since = pending.progressed_at or pending.created
    # An operator that has just started has asked no dashboard yet: what may be ready for long is not late.
    known = readiness.stage is Stage.WAITING and readiness.reason != UNKNOWN
    late = known and not moved and overdue(pending, policy.progress_deadline, now)
    if late and since is not None:
        message = f"RayCluster {pending.name} has made no progress since {rfc3339(since)}: {readiness.message}"
        return Failure("ProgressDeadlineExceeded", message)
    return None


def _give_up(
    pending: ChildCluster,
    active: ChildCluster | None,
    failure: Failure,
    policy: Policy,
    readiness: Readiness,
    now: datetime,
) -> Decision:
    if pending.promoted:
        change = AnnotationChange(pending.name, delete_at=now + policy.deletion_delay)
        return Decision(active=active, annotate=(change,), failure=failure, readiness=readiness)
    return Decision(active=active, delete=(pending.name,), failure=failure, readiness=readiness)


def _deadline(pending: ChildCluster, active: ChildCluster | None, policy: Policy) -> datetime | None:
    deadlines: list[datetime] = []
    since = pending.progressed_at or pending.created
    if since is not None and not pending.suspended:
        deadlines.append(since + policy.progress_deadline)
    if active is None and policy.initializing_timeout and pending.released:
        deadlines.append(pending.released + policy.initializing_timeout)
    return min(deadlines, default=None)
