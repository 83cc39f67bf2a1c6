"""The cluster that serves: give it the config asked for, and the last good one back where that fails."""

from __future__ import annotations

from datetime import datetime

from rayward.kube.core.meta import rfc3339
from rayward.operator.service import outage, surge
from rayward.operator.service.healing import Remedy
from rayward.operator.service.readiness import (
    config_not_sent,
    overdue,
    progress_of,
    readiness_of,
    resizing,
    rolling,
)
from rayward.operator.service.serveconfig import is_deployed
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


def decide(
    active: ChildCluster, release: Release, policy: Policy, failure: Failure | None, remedy: Remedy, now: datetime
) -> Decision:
    """The next step of the active cluster, where the release asks for no other."""
    if active.config != release.config and failure is None:
        if (
            outage.may_be_stuck(active)
            or surge.is_unknown(active, release, policy)
            or _is_asked_for_again(active, release)
        ):
            return Decision(active=active, readiness=config_not_sent(active))
        # What self-healing knew of the former config says nothing of this one.
        change = AnnotationChange(
            active.name,
            config=release.config,
            progress=progress_of(active),
            remedies=0 if active.remedies else None,
            healthy=active.unhealthy_since is not None,
            answered=active.deserted_since is not None,
            surges=surge.surges_of(active, release, policy),
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
        elif failure is None and (plain := surge.given_up(active, policy, now)) is not None:
            changes.append(AnnotationChange(active.name, surges=plain, progress=progress_of(active)))
        elif (ended := _failure(active, readiness, policy, now, moved=moved)) is not None:
            # An earlier edit brought this config, and a later one was given up already: that failure stays.
            failure = failure or ended
            if active.good_config:
                changes.append(AnnotationChange(active.name, config=active.good_config))
        elif moved:
            changes.append(AnnotationChange(active.name, progress=progress_of(active)))
        if active.progressed_at is not None:
            times = (active.progressed_at + policy.progress_deadline, *surge.deadlines(active, policy))
            requeue_at = min((at for at in times if at >= now), default=None)
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


def finish(active: ChildCluster, policy: Policy, now: datetime) -> tuple[AnnotationChange, ...]:
    """What becomes of a config that the active cluster got before another cluster was asked for."""
    if active.config == active.good_config or not active.good_config:
        return ()
    readiness = readiness_of(active)
    if readiness.stage is Stage.READY:
        return (AnnotationChange(active.name, good_config=active.config),)
    failed = _failure(active, readiness, policy, now, moved=True)
    return (AnnotationChange(active.name, config=active.good_config),) if failed is not None else ()


def _is_asked_for_again(active: ChildCluster, release: Release) -> bool:
    """Whether Serve still has this config from before its rollback: it would fail again by what it reported then."""
    return active.config == active.good_config and _is_deployed(active, release)


def _is_deployed(active: ChildCluster, release: Release) -> bool:
    surges = active.surges.get(release.config, frozenset())
    return is_deployed(active.deployed, release.config, active.remedies, surges)


def _failure(
    active: ChildCluster, readiness: Readiness, policy: Policy, now: datetime, *, moved: bool
) -> Failure | None:
    rollback = "; rolled back to the previous Serve config" if active.good_config else ""
    if readiness.stage is Stage.FAILED:
        return Failure(readiness.reason, f"{readiness.message}{rollback}", readiness.detail)
    if (found := outage.failure(active, policy, now) or surge.failure(active, policy, now)) is not None:
        return found
    if not moved and overdue(active, policy.progress_deadline, now):
        return Failure("ProgressDeadlineExceeded", f"{readiness.message}{rollback}")
    return None
