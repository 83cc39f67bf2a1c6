"""The cluster that serves: give it the config asked for, and the last good one back where that fails."""

from __future__ import annotations

from datetime import datetime

from rayward.kinds import labels
from rayward.kube.core.meta import rfc3339
from rayward.operator.service.diagnosis import cause_of
from rayward.operator.service.healing import Remedy
from rayward.operator.service.readiness import (
    config_not_sent,
    deploy_failed,
    overdue,
    progress_of,
    readiness_of,
    resizing,
    rolling,
)
from rayward.operator.service.state import (
    DESERTION,
    AnnotationChange,
    Application,
    ChildCluster,
    Decision,
    Failure,
    Policy,
    Readiness,
    Release,
    Stage,
)


def decide(
    active: ChildCluster, release: Release, policy: Policy, failure: Failure | None, remedy: Remedy, now: datetime
) -> Decision:
    """The next step of the active cluster, where the release asks for no other."""
    if active.config != release.config and failure is None:
        # What self-healing knew of the former config says nothing of this one.
        change = AnnotationChange(
            active.name,
            config=release.config,
            progress=progress_of(active),
            remedies=0 if active.remedies else None,
            healthy=active.unhealthy_since is not None,
            answered=active.deserted_since is not None,
        )
        return Decision(active=active, annotate=(change,), readiness=config_not_sent(active))
    readiness = readiness_of(active)
    changes: list[AnnotationChange] = []
    requeue_at = None
    if active.delete_at is not None:
        changes.append(AnnotationChange(active.name, keep=True))
    if active.config != active.good_config:
        moved = progress_of(active) != active.progress
        if readiness.stage is Stage.READY:
            changes.append(AnnotationChange(active.name, good_config=active.config))
        elif failure is not None and active.good_config and active.config == release.config:
            # Reported, and not acted upon: the operator that reported it is gone.
            changes.append(AnnotationChange(active.name, config=active.good_config))
        elif (ended := _failure(active, readiness, policy, now, moved=moved)) is not None:
            # An earlier edit brought this config, and a later one was given up already: that failure stays.
            failure = failure or ended
            if active.good_config:
                changes.append(AnnotationChange(active.name, config=active.good_config))
        elif moved:
            changes.append(AnnotationChange(active.name, progress=progress_of(active)))
        if active.progressed_at is not None:
            requeue_at = active.progressed_at + policy.progress_deadline
    if active.rolling_since is not None and readiness.stage is Stage.READY:
        readiness = rolling(active)
        late_at = active.rolling_since + policy.progress_deadline
        if now >= late_at:
            message = f"{readiness.message}; no worker became ready since {rfc3339(active.rolling_since)}"
            failure = failure or Failure("ProgressDeadlineExceeded", message)
        requeue_at = min(requeue_at or late_at, late_at)
    elif active.resizing and readiness.stage is Stage.READY:
        readiness = resizing(active)
    return Decision(
        active=active,
        annotate=tuple(changes),
        redeploy=active.name if remedy.redeploy else "",
        failure=failure,
        readiness=readiness,
        requeue_at=requeue_at,
    )


def finish(active: ChildCluster) -> tuple[AnnotationChange, ...]:
    """What becomes of a config that the active cluster got before another cluster was asked for."""
    if active.config == active.good_config or not active.good_config:
        return ()
    stage = readiness_of(active).stage
    if stage is Stage.READY:
        return (AnnotationChange(active.name, good_config=active.config),)
    return (AnnotationChange(active.name, config=active.good_config),) if stage is Stage.FAILED else ()


def desertion(
    active: ChildCluster | None, policy: Policy, now: datetime
) -> tuple[tuple[AnnotationChange, ...], tuple[datetime, ...]]:
    """What to remember of applications that have no replica, and when that is looked at again."""
    if active is None or active.serve is None:
        return (), ()
    since = active.deserted_since
    if not any(app.deserted for app in active.serve.applications):
        return ((AnnotationChange(active.name, answered=True),) if since is not None else ()), ()
    waits = (DESERTION, policy.scheduling_timeout, policy.scheduling_timeout + policy.start_timeout)
    times = tuple((since or now) + wait for wait in waits)
    return ((AnnotationChange(active.name, deserted_since=now),) if since is None else ()), times


def _raised(active: ChildCluster) -> Readiness | None:
    """A constructor raised, and no replica of the last config is left.

    Ray would try twice more and then answer the requests that wait with 503: taken back now, none is lost.
    """
    if not active.good_config or active.serve is None or active.serve.config != active.config:
        return None
    failed = (app for app in active.serve.applications if app.deserted and cause_of(app.message))
    return next((deploy_failed(app, active) for app in failed), None)


def _starved(active: ChildCluster, policy: Policy, now: datetime) -> Failure | None:
    """A config whose replicas do not start while those of the last one are gone: requests wait for nothing."""
    since = active.deserted_since
    if since is not None and active.progressed_at is not None:
        # replicas that were missing before this config came are not held against it
        since = max(since, active.progressed_at)
    if not active.good_config or since is None or now - since < policy.scheduling_timeout or active.serve is None:
        return None
    for app in active.serve.applications:
        if app.unscheduled:
            message = f"Application {app.name}: {app.unscheduled}; rolled back to the previous Serve config. Ask for "
            return Failure("ReplicasUnschedulable", f"{message}less in ray_actor_options, or for larger workers")
    if now - since < policy.scheduling_timeout + policy.start_timeout or active.serve.config != active.config:
        return None
    # An application that this config adds has taken no request yet: it has the progress deadline.
    former = (app for app in active.serve.applications if active.served is None or app.name in active.served)
    deserted = next((app for app in former if app.deserted), None)
    return None if deserted is None else Failure("ReplicasNotStarted", _not_started(deserted, policy))


def _not_started(app: Application, policy: Policy) -> str:
    seconds = int(policy.start_timeout.total_seconds())
    return (
        f"Application {app.name}: no replica has started within {seconds} s and none of the previous Serve config is "
        f"left; rolled back to the previous Serve config. If the constructor needs longer, roll the change out on a "
        f"new cluster (rayward apply --strategy new-cluster) or raise annotation {labels.REPLICA_START_TIMEOUT}"
    )


def _failure(
    active: ChildCluster, readiness: Readiness, policy: Policy, now: datetime, *, moved: bool
) -> Failure | None:
    rollback = "; rolled back to the previous Serve config" if active.good_config else ""
    if readiness.stage is Stage.FAILED:
        return Failure(readiness.reason, f"{readiness.message}{rollback}", readiness.detail)
    if (found := _raised(active)) is not None:
        return Failure(found.reason, f"{found.message}{rollback}", found.detail)
    if (found := _starved(active, policy, now)) is not None:
        return found
    if not moved and overdue(active, policy.progress_deadline, now):
        return Failure("ProgressDeadlineExceeded", f"{readiness.message}{rollback}")
    return None
