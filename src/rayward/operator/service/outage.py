"""A config given in place that leaves an application without a replica: how long that lasts, and when it is taken back.

Ray replaces the only replica of a deployment by stopping it first, so for seconds nobody answers, and requests wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from rayward.kinds import labels
from rayward.operator.service.diagnosis import tells_failure
from rayward.operator.service.readiness import deploy_failed, readiness_of
from rayward.operator.service.state import (
    DESERTION,
    AnnotationChange,
    Application,
    ChildCluster,
    Failure,
    Policy,
    Stage,
)

_SHORTEST: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(minutes=5)
_AS_LONG_AGAIN: Final = 2
_JOINING: Final = timedelta(minutes=3)
"""Workers that the same edit asks for take this long to join, at times."""

LONGER: Final = (
    f"roll the change out on a new cluster (rayward apply --strategy new-cluster) or raise annotation "
    f"{labels.REPLICA_START_TIMEOUT}"
)


def desertion(
    active: ChildCluster | None, policy: Policy, now: datetime
) -> tuple[tuple[AnnotationChange, ...], tuple[datetime, ...]]:
    """What to remember of applications that have no replica, and when that is looked at again."""
    if active is None or active.serve is None:
        return (), ()
    since = active.deserted_since
    if not any(app.deserted for app in active.serve.applications):
        return ((AnnotationChange(active.name, answered=True),) if since is not None else ()), ()
    waits = (DESERTION, scheduling_timeout(active, policy), patience(active, policy))
    times = tuple(begun + wait for begun in (since or now, _since(active) or now) for wait in waits)
    return ((AnnotationChange(active.name, deserted_since=now),) if since is None else ()), times


def first_start(cluster: ChildCluster | None, now: datetime) -> tuple[AnnotationChange, ...]:
    """How long the first config of a cluster took; noted once, as most later ones replace no replica."""
    if cluster is None or cluster.serve is None or cluster.started_in is not None:
        return ()
    deployed = [app.deployed_at for app in cluster.serve.applications if app.deployed_at is not None]
    if not deployed or readiness_of(cluster).stage is not Stage.READY:
        return ()
    # The clock of the head may be ahead.
    return (AnnotationChange(cluster.name, started_in=max(now - min(deployed), timedelta(seconds=1))),)


def start_timeout(active: ChildCluster, policy: Policy) -> timedelta:
    """How long a replica may take to start while nobody answers."""
    if policy.start_timeout is not None:
        return policy.start_timeout
    if active.started_in is None:
        return _LONGEST
    return min(max(_AS_LONG_AGAIN * active.started_in, _SHORTEST), _LONGEST)


def failure(active: ChildCluster, policy: Policy, now: datetime) -> Failure | None:
    """Why the config is taken back while nobody answers; None where it stays, or where there is no former one."""
    if not active.good_config:
        return None
    return _raised(active) or _starved(active, policy, now)


def is_stuck(active: ChildCluster, policy: Policy, now: datetime, *, replacing: bool) -> bool:
    """Whether nobody answers because ``reconfigure`` does not return: Ray ends no such replica, so no config helps.

    An operator that has just started has asked no dashboard: what another one began to replace (``replacing``) is.
    """
    since = active.deserted_since
    if since is None or now - since < patience(active, policy):
        return False
    return replacing if active.serve is None else any(app.reconfiguring for app in _former(active))


def may_be_stuck(active: ChildCluster) -> bool:
    """Whether nobody answered, and the dashboard of the same head has yet to say why: another config may not help."""
    return active.serve is None and active.head_ready and active.deserted_since is not None


def _raised(active: ChildCluster) -> Failure | None:
    """A constructor raised or its process died, and no replica of the last config is left.

    Ray would try twice more and then answer the requests that wait with 503: taken back now, none is lost.
    """
    if active.serve is None or active.serve.config != active.config:
        return None
    failed = next((app for app in active.serve.applications if app.deserted and tells_failure(app.message)), None)
    if failed is None:
        return None
    found = deploy_failed(failed, active)
    return Failure(found.reason, f"{found.message}; rolled back to the previous Serve config", found.detail)


def _starved(active: ChildCluster, policy: Policy, now: datetime) -> Failure | None:
    """Replicas do not start while those of the last config are gone: requests wait for nothing."""
    since = _since(active)
    if since is None or now - since < scheduling_timeout(active, policy):
        return None
    for app in _former(active):
        if app.unscheduled:
            message = f"Application {app.name}: {app.unscheduled}; rolled back to the previous Serve config. Ask for "
            return Failure("ReplicasUnschedulable", f"{message}less in ray_actor_options, or for larger workers")
    if active.serve is None or active.serve.config != active.config or now - since < patience(active, policy):
        return None
    deserted = next((app for app in _former(active) if app.deserted), None)
    if deserted is None:
        return None
    says = _not_reconfigured if deserted.reconfiguring else _not_started
    return Failure("ReplicasNotStarted", says(deserted, start_timeout(active, policy)))


def _since(active: ChildCluster) -> datetime | None:
    """Since when its config has left nobody to answer: what was missing before it came is not held against it."""
    if active.deserted_since is None or active.progressed_at is None:
        return active.deserted_since
    return max(active.deserted_since, active.progressed_at)


def _former(active: ChildCluster) -> Iterator[Application]:
    """One that this config adds has taken no request yet: it has the progress deadline."""
    if active.serve is not None:
        yield from (app for app in active.serve.applications if active.served is None or app.name in active.served)


def scheduling_timeout(active: ChildCluster, policy: Policy) -> timedelta:
    """How long a replica may wait for a node while nobody answers."""
    waits_for_workers = active.resizing and active.missing
    return max(policy.scheduling_timeout, _JOINING) if waits_for_workers else policy.scheduling_timeout


def patience(active: ChildCluster, policy: Policy) -> timedelta:
    """How long both may take."""
    return scheduling_timeout(active, policy) + start_timeout(active, policy)


def _not_started(app: Application, patience: timedelta) -> str:
    return (
        f"Application {app.name}: no replica has started within {int(patience.total_seconds())} s and none of the "
        f"previous Serve config is left; rolled back to the previous Serve config. If the constructor needs longer, "
        f"{LONGER}"
    )


def _not_reconfigured(app: Application, patience: timedelta) -> str:
    return (
        f"Application {app.name}: reconfigure has not returned within {int(patience.total_seconds())} s and no other "
        f"replica is left; rolled back to the previous Serve config on a new RayCluster, as Ray ends no such replica. "
        f"If reconfigure needs longer, {LONGER}"
    )
