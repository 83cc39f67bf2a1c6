"""The status and conditions of a deployment. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from rayward.kube.core.meta import parse_time, rfc3339
from rayward.local.controllers.workloads.deployment import DeploymentCondition, DeploymentStatus, SeenDeployment
from rayward.local.controllers.workloads.replicaset import FAILURE, SeenReplicaSet

PROGRESSING: Final = "Progressing"
_COMPLETE: Final = "NewReplicaSetAvailable"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"
_PAUSED: Final = "DeploymentPaused"


def counted(
    owner: SeenDeployment, sets: Sequence[SeenReplicaSet], new: SeenReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The status as far as it is a matter of counting."""
    spec, statuses = owner.spec, [each.status for each in sets]
    available = sum(each.available_replicas for each in statuses)
    terminating = [each.terminating_replicas for each in statuses]
    status = DeploymentStatus(
        observed_generation=owner.metadata.generation,
        replicas=sum(each.replicas for each in statuses),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(each.ready_replicas for each in statuses),
        available_replicas=available,
        unavailable_replicas=max(0, sum(each.spec.replicas for each in sets) - available),
        terminating_replicas=None if None in terminating else sum(each or 0 for each in terminating),
        conditions=owner.status.conditions,
        collision_count=owner.status.collision_count,
    )
    if available >= spec.replicas - spec.unavailable:
        text = "Deployment has minimum availability."
        return with_condition(status, "Available", "True", "MinimumReplicasAvailable", text, now)
    text = "Deployment does not have minimum availability."
    return with_condition(status, "Available", "False", "MinimumReplicasUnavailable", text, now)


def with_condition(
    status: DeploymentStatus, kind: str, value: str, reason: str, message: str, now: datetime
) -> DeploymentStatus:
    """The status with a condition, unless it says the same for the same reason already."""
    before = status.condition(kind)
    if before is not None and (before.status, before.reason) == (value, reason):
        return status
    when = rfc3339(now)
    since = before.last_transition_time if before is not None and before.status == value else when
    others = tuple(found for found in status.conditions or () if found.type != kind)
    condition = DeploymentCondition(kind, value, when, since, reason, message)
    return msgspec.structs.replace(status, conditions=(*others, condition))


def without(status: DeploymentStatus, kind: str) -> DeploymentStatus:
    """The status without a condition."""
    others = tuple(found for found in status.conditions or () if found.type != kind)
    return msgspec.structs.replace(status, conditions=others or None)


def with_pause(owner: SeenDeployment, status: DeploymentStatus, now: datetime) -> DeploymentStatus:
    """The status that says whether rollouts are paused."""
    before = status.condition(PROGRESSING)
    if not owner.spec.has_deadline or (before is not None and before.reason == _TIMED_OUT):
        return status
    paused = before is not None and before.reason == _PAUSED
    if owner.spec.paused and not paused:
        return with_condition(status, PROGRESSING, "Unknown", _PAUSED, "Deployment is paused", now)
    if paused and not owner.spec.paused:
        return with_condition(status, PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    return status


def is_complete(owner: SeenDeployment, status: DeploymentStatus) -> bool:
    """Whether all pods are new ones, and available."""
    wanted = owner.spec.replicas
    return (
        status.updated_replicas == status.replicas == status.available_replicas == wanted
        and status.observed_generation >= owner.metadata.generation
    )


def with_progress(
    owner: SeenDeployment,
    status: DeploymentStatus,
    sets: Sequence[SeenReplicaSet],
    new: SeenReplicaSet | None,
    now: datetime,
) -> DeploymentStatus:
    """The status that says whether a rollout goes on."""
    if not owner.spec.has_deadline:
        status = without(status, PROGRESSING)
    else:
        current = status.condition(PROGRESSING)
        done = status.replicas == status.updated_replicas and current is not None and current.reason == _COMPLETE
        if not done:
            status = _progress(owner, status, new, now)
    failing = [
        found for each in (new, *sets) if each for found in each.status.conditions or () if found.type == FAILURE
    ]
    if not failing:
        return without(status, FAILURE)
    first = failing[0]
    return with_condition(status, FAILURE, first.status, first.reason, first.message, now)


def _progress(
    owner: SeenDeployment, status: DeploymentStatus, new: SeenReplicaSet | None, now: datetime
) -> DeploymentStatus:
    what = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{owner.metadata.name}"'
    if is_complete(owner, status):
        return with_condition(status, PROGRESSING, "True", _COMPLETE, f"{what} has successfully progressed.", now)
    current = status.condition(PROGRESSING)
    if _goes_on(owner.status, status):
        since = current.last_transition_time if current is not None and current.status == "True" else rfc3339(now)
        text, others = f"{what} is progressing.", without(status, PROGRESSING).conditions or ()
        condition = DeploymentCondition(PROGRESSING, "True", rfc3339(now), since, "ReplicaSetUpdated", text)
        return msgspec.structs.replace(status, conditions=(*others, condition))
    if current is not None and seconds_left(owner, status, now) == 0:
        return with_condition(status, PROGRESSING, "False", _TIMED_OUT, f"{what} has timed out progressing.", now)
    return status


def _goes_on(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def seconds_left(owner: SeenDeployment, status: DeploymentStatus, now: datetime) -> float | None:
    """Seconds until a rollout that does not go on has timed out, 0 if it has; None if none is waited for."""
    current, limit = status.condition(PROGRESSING), owner.spec.progress_deadline_seconds
    if not owner.spec.has_deadline or limit is None or current is None or current.reason == _COMPLETE:
        return None
    if current.reason == _TIMED_OUT:
        return 0.0
    if current.last_update_time is None:
        return None
    return max(0.0, (parse_time(current.last_update_time) + timedelta(seconds=limit) - now).total_seconds())
