"""Suspending a RayService: its RayClusters and Services are deleted, the object stays, and a resume starts anew."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rayward.kube.core.meta import is_true, with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.service.conditions import (
    DRIFTED,
    EXHAUSTED,
    PROGRESSING,
    READY,
    RECONCILING,
    RELEASE_FAILED,
    ROLLBACK,
    STALLED,
    SUSPENDED,
    SUSPENDING,
    UPGRADE,
    WORKERS_MISSING,
    Conditions,
)
from rayward.operator.service.state import Failure


@dataclass(frozen=True, slots=True)
class Suspension:
    """The conditions of a RayService that is suspended, or about to be."""

    conditions: Conditions
    delete: bool
    """Its RayClusters and Services are to be deleted."""
    in_progress: bool = True
    """Something is left."""


def decide(
    before: Conditions | None, asked: bool, left: int, generation: int, now: datetime, rejected: Failure | None = None
) -> Suspension | None:
    """What suspension asks for; None while the service is to run.

    Once begun it is completed, as KubeRay does: a resume in the middle waits until nothing is ``left``. A spec that is
    ``rejected`` is suspended all the same, and would not run again.
    """
    suspending = is_true(before, SUSPENDING)
    if not asked and not suspending:
        return None
    if is_true(before, SUSPENDED) and not left and not suspending:
        return Suspension(_stalled(before or (), rejected, generation, now), delete=False, in_progress=False)
    begun = suspending or is_true(before, SUSPENDED)
    reason, why = ("SuspendComplete", "") if begun and not left else ("SuspendInProgress", "Suspended by spec.suspend")
    result = before or ()
    for kind in (READY, UPGRADE, ROLLBACK, PROGRESSING):
        result = _put(result, kind, "False", reason, why, generation, now)
    for kind in (DRIFTED, EXHAUSTED, RELEASE_FAILED, STALLED, RECONCILING, WORKERS_MISSING):
        result = without_condition(result, kind)
    if begun and not left:
        result = _put(result, SUSPENDING, "False", reason, why, generation, now)
        done = _put(
            result, SUSPENDED, "True", "SuspendComplete", "Deleted all RayClusters and Services", generation, now
        )
        return Suspension(_stalled(done, rejected, generation, now), delete=False, in_progress=False)
    message = "Deleting RayClusters and Services"
    result = _put(result, RECONCILING, "True", "SuspendInProgress", message, generation, now)
    return Suspension(_put(result, SUSPENDING, "True", "SuspendRequested", message, generation, now), delete=begun)


def _stalled(found: Conditions, rejected: Failure | None, generation: int, now: datetime) -> Conditions:
    if rejected is None:
        return without_condition(found, STALLED)
    return _put(found, STALLED, "True", rejected.reason, rejected.message, generation, now)


def _put(
    found: Conditions, kind: str, status: str, reason: str, message: str, generation: int, now: datetime
) -> Conditions:
    new = Condition(type=kind, status=status, reason=reason, message=message, observed_generation=generation)
    return with_condition(found, new, now)
