"""Self-healing of an active cluster whose applications stay unhealthy: redeploy once, then new clusters, then stop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Final

from rayward.operator.service.state import DEPLOY_FAILED, RUNNING, UNHEALTHY, AnnotationChange, ChildCluster, Policy

_STUCK_REPLACEMENTS: Final = 2


@dataclass(frozen=True, slots=True)
class Remedy:
    """What self-healing does now; ``remedies`` is the count after it."""

    change: AnnotationChange | None = None
    redeploy: bool = False
    replace: bool = False
    exhausted: bool = False
    remedies: int = 0
    requeue_at: datetime | None = None


NOTHING = Remedy()


def decide(active: ChildCluster, policy: Policy, now: datetime, *, replacing: bool = False) -> Remedy:
    """The remedy for ``active``; nothing without a threshold. ``replacing``: its replacement exists already."""
    thresholds = policy.healing
    if thresholds.unhealthy_after is None:
        return NOTHING
    health, count = _health(active), active.remedies
    if active.unhealthy_since is None:
        if health is not _Health.BAD:
            return Remedy(remedies=count)
        change = AnnotationChange(active.name, unhealthy_since=now)
        return Remedy(change=change, remedies=count, requeue_at=now + thresholds.unhealthy_after)
    if health is _Health.GOOD:
        return Remedy(change=AnnotationChange(active.name, healthy=True), remedies=count)
    due = active.unhealthy_since + thresholds.unhealthy_after
    if now < due:
        return Remedy(remedies=count, requeue_at=due)
    if health is _Health.UNKNOWN and not replacing:
        # A redeployment that hangs helps as little as one that fails.
        deadline = active.unhealthy_since + max(thresholds.unhealthy_after, policy.progress_deadline)
        if not count or now < deadline:
            return Remedy(remedies=count, requeue_at=deadline if count else None)
    if count == 0:
        return Remedy(
            change=AnnotationChange(active.name, unhealthy_since=now, remedies=1),
            redeploy=True,
            remedies=1,
            requeue_at=now + thresholds.unhealthy_after,
        )
    if count > thresholds.new_clusters:
        return Remedy(exhausted=True, remedies=count)
    return Remedy(replace=True, remedies=count + 1)


def replace_stuck(active: ChildCluster, policy: Policy, now: datetime, *, replacing: bool) -> Remedy:
    """The remedy for an active cluster that no config helps, also without a threshold; the first one is at once."""
    count = active.remedies
    if count > max(policy.healing.new_clusters, _STUCK_REPLACEMENTS):
        return Remedy(exhausted=True, remedies=count)
    if count and active.unhealthy_since is not None and not replacing:
        due = active.unhealthy_since + policy.progress_deadline
        if now < due:
            return Remedy(remedies=count, requeue_at=due)
    return Remedy(replace=True, remedies=count + 1)


class _Health(Enum):
    GOOD = auto()
    BAD = auto()
    UNKNOWN = auto()
    """Serve is at work on it, or does not answer."""


def _health(cluster: ChildCluster) -> _Health:
    if cluster.serve is None or not cluster.serve.applications:
        return _Health.UNKNOWN
    states = {application.status for application in cluster.serve.applications}
    # Where unhealthy applications are redeployed and fail again, Ray calls that a failed deployment; any other failed
    # deployment is that of a config, which is rolled back instead.
    if UNHEALTHY in states or (cluster.unhealthy_since is not None and DEPLOY_FAILED in states):
        return _Health.BAD
    return _Health.GOOD if states == {RUNNING} else _Health.UNKNOWN
