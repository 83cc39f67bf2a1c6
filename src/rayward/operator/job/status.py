"""The conditions of a RayJob, in Kubernetes' words, and what its status says of the spec."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJobStatus
from rayward.kube.core.meta import with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.job.annotations import ignored
from rayward.operator.job.state import Decision, State

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
SPEC_IN_USE: Final = "SpecInUse"
"""Whether the attempt runs by the spec as it is written now."""
_Said = Callable[..., Condition]

_LONGEST: Final = 4096
_SHOWN: Final = 10
_MOVING: Final = frozenset(
    (Phase.NEW, Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING, Phase.SUSPENDING, Phase.RETRYING)
)


def reported(state: State, decision: Decision, now: datetime) -> RayJobStatus:
    """The decision's status with conditions and the generation that it is about."""
    status = decision.status
    conditions = tuple(status.conditions or ())
    for condition in _conditions(state, decision):
        conditions = with_condition(conditions, condition, now)
    if state.quota is None or Phase(status.job_deployment_status).ended:
        conditions = without_condition(conditions, QUOTA_RESERVED)
    return replace(status, conditions=conditions, observed_generation=state.job.metadata.generation)


def _conditions(state: State, decision: Decision) -> list[Condition]:
    status = decision.status
    phase = Phase(status.job_deployment_status)
    won = phase is Phase.COMPLETE and status.job_status == JobStatus.SUCCEEDED
    stopped = phase is Phase.COMPLETE and not won
    lost = phase is Phase.FAILED or stopped
    generation = state.job.metadata.generation

    def said(kind: str, holds: bool, reason: str, message: str = "") -> Condition:
        return Condition(
            type=kind,
            status=str(holds),
            reason=reason,
            message=message[:_LONGEST],
            observed_generation=generation,
        )

    why = "Stopped" if stopped else status.reason or "Failed"
    found = [
        said(COMPLETE, won, "Succeeded" if won else "NotComplete"),
        said(FAILED, True, why, status.message) if lost else said(FAILED, False, "NotFailed"),
        said(RECONCILING, phase in _MOVING and not state.problems, phase.value or "New", decision.progress),
        # A job that failed does not get there by itself: kstatus knows no other word for that.
        said(STALLED, True, why, status.message) if lost else _stalled(state, phase, said),
        _suspended(state, phase, said),
    ]
    if state.quota is not None and not phase.ended:
        found.append(said(QUOTA_RESERVED, state.quota.status == "True", state.quota.reason, state.quota.message))
    edited = () if phase in _UNSTARTED else ignored(decision.attempt, state.job.spec)
    known = any(each.type == SPEC_IN_USE for each in status.conditions or ())
    if edited:
        fields = ", ".join(edited[:_SHOWN]) + (f" and {len(edited) - _SHOWN} more" if len(edited) > _SHOWN else "")
        message = f"{fields} changed since the attempt began and count from the next one: suspend and resume the RayJob"
        if phase.ended:
            message = f"{fields} changed, and the job has ended: create a RayJob of another name, or run rayward rerun"
        found.append(said(SPEC_IN_USE, False, "EditIgnored", message))
    elif known:
        found.append(said(SPEC_IN_USE, True, "AsWritten"))
    return found


_UNSTARTED: Final = frozenset((Phase.NEW, Phase.VALIDATION_FAILED, Phase.SUSPENDED))


def _stalled(state: State, phase: Phase, said: _Said) -> Condition:
    if state.problems and not phase.ended:
        running = phase not in _UNSTARTED
        message = (
            f"{state.problems}; the running attempt goes on by the spec it began with" if running else state.problems
        )
        return said(STALLED, True, "ValidationFailed", message)
    return said(STALLED, False, "SpecAccepted")


def _suspended(state: State, phase: Phase, said: _Said) -> Condition:
    if phase is Phase.SUSPENDED:
        return said(SUSPENDED, True, "Suspended", "set spec.suspend to false to start a new attempt")
    if phase.ended and state.job.spec.suspend:
        return said(SUSPENDED, False, "AlreadyEnded", "the job has ended: spec.suspend has no effect")
    return said(SUSPENDED, False, "Suspending" if phase is Phase.SUSPENDING else "NotSuspended")
