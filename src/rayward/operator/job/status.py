"""The conditions of a RayJob, in Kubernetes' words, and what its status says of the spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJobStatus
from rayward.kube.core.meta import with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.job.annotations import ignored
from rayward.operator.job.state import Decision, Event, State

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
    ended = Phase(status.job_deployment_status).ended
    silent = decision.attempt.silent_since if decision.attempt is not None and not ended else ""
    return replace(
        status,
        conditions=conditions,
        job_status_check_failure_start_time=silent
        if silent and not Phase(status.job_deployment_status).ended
        else None,
        observed_generation=state.job.metadata.generation,
    )


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
    if edited:
        found.append(said(SPEC_IN_USE, False, "EditIgnored", _without_effect(edited, phase, state.job.metadata.name)))
    elif any(each.type == SPEC_IN_USE for each in status.conditions or ()):
        found.append(said(SPEC_IN_USE, True, "AsWritten"))
    return found


def _without_effect(edited: Sequence[str], phase: Phase, name: str) -> str:
    more = f" and {len(edited) - _SHOWN} more" if len(edited) > _SHOWN else ""
    fields = ", ".join(edited[:_SHOWN]) + more
    if phase.ended:
        return f"{fields} changed since the last attempt began, and the job has ended: rayward rerun {name}"
    verbs = f"rayward suspend rayjob/{name}, then rayward resume rayjob/{name}"
    return (
        f"{fields} changed since the attempt began and count from the next one: suspend and resume the RayJob ({verbs})"
    )


_UNSTARTED: Final = frozenset((Phase.NEW, Phase.VALIDATION_FAILED, Phase.SUSPENDED))


def _stalled(state: State, phase: Phase, said: _Said) -> Condition:
    if state.problems:
        return said(STALLED, True, "ValidationFailed", f"{state.problems}{_meanwhile(phase)}")
    return said(STALLED, False, "SpecAccepted")


def _meanwhile(phase: Phase) -> str:
    if phase.ended:
        return "; the job has ended, and is cleaned up by the spec before"
    if phase is Phase.RETRYING:
        return "; the next attempt waits until it is corrected"
    return "" if phase in _UNSTARTED else "; the running attempt goes on by the spec it began with"


def news(before: RayJobStatus, after: RayJobStatus) -> tuple[Event, ...]:
    """Events about edits that do not do what their author may think, when a condition says something new of one."""
    told = {(each.type, each.reason, each.message) for each in before.conditions or ()}
    return tuple(
        Event(_NEWS[each.type, each.reason], each.message, warning=True)
        for each in after.conditions or ()
        if (each.type, each.reason) in _NEWS and (each.type, each.reason, each.message) not in told
    )


_NEWS: Final = {
    (SPEC_IN_USE, "EditIgnored"): "EditIgnored",
    (STALLED, "ValidationFailed"): "InvalidRayJobSpec",
    (SUSPENDED, "AlreadyEnded"): "SuspendIgnored",
}


def _suspended(state: State, phase: Phase, said: _Said) -> Condition:
    if phase is Phase.SUSPENDED:
        return said(SUSPENDED, True, "Suspended", "set spec.suspend to false to start a new attempt")
    if phase.ended and state.job.spec.suspend:
        return said(SUSPENDED, False, "AlreadyEnded", "the job has ended: spec.suspend has no effect")
    return said(SUSPENDED, False, "Suspending" if phase is Phase.SUSPENDING else "NotSuspended")
