"""The conditions of a RayJob, in Kubernetes' words, and what its status says of the spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJobStatus
from rayward.kube.core.meta import condition_of, is_true, with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.job.annotations import Attempt, ignored
from rayward.operator.job.state import Decision, Event, State

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
SPEC_IN_USE: Final = "SpecInUse"
"""Whether the attempt runs by the spec as it is written now."""
_EDIT_IGNORED: Final = "EditIgnored"
_Said = Callable[..., Condition]

_LONGEST: Final = 4096
_SHOWN: Final = 10
_MOVING: Final = frozenset(
    (Phase.NEW, Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING, Phase.SUSPENDING, Phase.RETRYING)
)


def reported(state: State, decision: Decision, now: datetime) -> RayJobStatus:
    """The decision's status with conditions, and the generation that was acted upon.

    ``observedGeneration`` stays while the job is on its way: kstatus compares generations before it reads conditions.
    """
    status = decision.status
    conditions = tuple(status.conditions or ())
    for condition in _conditions(state, decision):
        conditions = with_condition(conditions, condition, now)
    if state.quota is None or Phase(status.job_deployment_status).ended:
        conditions = without_condition(conditions, QUOTA_RESERVED)
    ended = Phase(status.job_deployment_status).ended
    silent = decision.attempt.silent_since if decision.attempt is not None and not ended else ""
    observed = status.observed_generation if is_true(conditions, RECONCILING) else state.job.metadata.generation
    return replace(
        status,
        conditions=conditions,
        job_status_check_failure_start_time=silent or None,
        observed_generation=observed,
    )


def _conditions(state: State, decision: Decision) -> list[Condition]:
    status = decision.status
    phase = Phase(status.job_deployment_status)
    won = phase is Phase.COMPLETE and status.job_status == JobStatus.SUCCEEDED
    stopped = phase is Phase.COMPLETE and not won
    lost = phase is Phase.FAILED or stopped
    generation = state.job.metadata.generation
    started = phase not in _UNSTARTED
    edited = ignored(decision.attempt, state.job.spec) if started else ()
    ran = _generation_that_ran(state, status.conditions, edited=bool(edited) or (started and bool(state.problems)))
    unused = _without_effect(edited, phase, state.job.metadata.name) if edited else ""

    def said(kind: str, holds: bool, reason: str, message: str = "") -> Condition:
        return Condition(
            type=kind,
            status=str(holds),
            reason=reason,
            message=message[:_LONGEST],
            observed_generation=ran if kind in (COMPLETE, FAILED) else generation,
        )

    why = "Stopped" if stopped else status.reason or "Failed"
    found = [
        said(COMPLETE, won, "Succeeded" if won else "NotComplete"),
        said(FAILED, True, why, status.message) if lost else said(FAILED, False, "NotFailed"),
        said(RECONCILING, phase in _MOVING and not state.problems, phase.value or "New", decision.progress),
        # A job that failed does not get there by itself: kstatus knows no other word for that.
        said(STALLED, True, why, status.message) if lost else _stalled(state, phase, said, unused),
        _suspended(state, decision.attempt, phase, said),
    ]
    if state.quota is not None and not phase.ended:
        found.append(said(QUOTA_RESERVED, state.quota.status == "True", state.quota.reason, state.quota.message))
    if unused:
        found.append(said(SPEC_IN_USE, False, _EDIT_IGNORED, unused))
    elif any(each.type == SPEC_IN_USE for each in status.conditions or ()):
        found.append(said(SPEC_IN_USE, True, "AsWritten"))
    return found


def _generation_that_ran(state: State, before: Sequence[Condition] | None, *, edited: bool) -> int:
    """The generation whose outcome ``Complete`` and ``Failed`` tell: an edit that nobody ran has none."""
    generation = state.job.metadata.generation
    if not edited:
        return generation
    found = condition_of(before, COMPLETE)
    if found is not None and found.observed_generation is not None:
        return min(found.observed_generation, generation)
    return generation - 1


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


def _stalled(state: State, phase: Phase, said: _Said, unused: str) -> Condition:
    if state.problems:
        return said(STALLED, True, "ValidationFailed", f"{state.problems}{_meanwhile(phase)}")
    if unused and phase.ended:
        return said(STALLED, True, _EDIT_IGNORED, unused)
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
    (SPEC_IN_USE, _EDIT_IGNORED): "EditIgnored",
    (STALLED, "ValidationFailed"): "InvalidRayJobSpec",
    (SUSPENDED, "AlreadyEnded"): "SuspendIgnored",
}


def _how_to_resume(state: State, attempt: Attempt | None) -> str:
    if attempt is not None and attempt.unstopped:
        left = f"job {attempt.job_id} may still run on RayCluster {attempt.cluster}, which does not answer"
        stops = "the job is stopped when the RayCluster answers"
        return f"{left}: {stops}" if state.job.spec.suspend else f"{left}: {stops}, and a new attempt starts after that"
    if state.id_taken:
        return f"{taken(state.status)}; then set spec.suspend to false to start a new attempt"
    return "set spec.suspend to false to start a new attempt"


def taken(status: RayJobStatus, whose: str = "") -> str:
    """That an id cannot be used again, and what to do."""
    return (
        f"RayCluster {status.ray_cluster_name} already has a job with id {status.job_id}{whose}: "
        "write another spec.jobId, or none"
    )


def _suspended(state: State, attempt: Attempt | None, phase: Phase, said: _Said) -> Condition:
    if phase is Phase.SUSPENDED:
        return said(SUSPENDED, True, "Suspended", _how_to_resume(state, attempt))
    if phase.ended and state.job.spec.suspend:
        return said(SUSPENDED, False, "AlreadyEnded", "the job has ended: spec.suspend has no effect")
    return said(SUSPENDED, False, "Suspending" if phase is Phase.SUSPENDING else "NotSuspended")
