"""How an attempt ends: its row, the counters, and whether another one follows."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec.structs import replace

from rayward.kinds.rayjob import AttemptStatus, JobStatus, RayJobInfo, RayJobStatus
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.operator.job.annotations import stamp
from rayward.operator.job.facts import Facts
from rayward.operator.job.state import Action, Decision, Event, State

MOST_ROWS: Final = 20
LONGEST_TAIL: Final = 4096
"""Characters of a log that a row keeps."""
_NEVER_RETRIED: Final = frozenset(("DeadlineExceeded",))
STOPS: Final = frozenset(("DeadlineExceeded", "OutcomeUnknown"))
"""Ends that the job itself may not know of: Ray is asked to stop it."""


def succeeded(state: State, now: datetime, facts: Facts) -> Decision:
    """Ray, or its word to the submitter, said that it succeeded."""
    status = recorded(state, state.status, now, "Succeeded", "", JobStatus.SUCCEEDED)
    status = replace(status, job_deployment_status=Phase.COMPLETE.value, succeeded=(status.succeeded or 0) + 1)
    return Decision(status, state.attempt, events=(Event("Completed", f"Job {status.job_id} succeeded"),))


def stopped(state: State, now: datetime, facts: Facts) -> Decision:
    """Somebody stopped it in Ray. KubeRay calls that Complete; the condition Failed says what it is."""
    text = state.ray.message or "The job was stopped"
    status = recorded(state, state.status, now, "Stopped", text, JobStatus.STOPPED)
    status = replace(status, job_deployment_status=Phase.COMPLETE.value, message=text)
    return Decision(status, state.attempt, events=(Event("Stopped", f"Job {status.job_id} was stopped", warning=True),))


def app_failed(state: State, now: datetime, facts: Facts) -> Decision:
    """Ray, or its word to the submitter, said that it failed."""
    return fail(state, now, "AppFailed", state.ray.message or "The job failed", JobStatus.FAILED)


def fail(state: State, now: datetime, reason: str, message: str, said: JobStatus = JobStatus.NEW) -> Decision:
    """End the attempt; while ``backoffLimit`` allows it another one follows on a new cluster."""
    failed = (state.status.failed or 0) + 1
    retried = failed <= (state.spec.backoff_limit or 0) and reason not in _NEVER_RETRIED and not state.selected
    if reason == "OutcomeUnknown" and not state.retry_unknown:
        retried = False
    status = recorded(state, state.status, now, reason, message, said)
    phase = Phase.RETRYING if retried else Phase.FAILED
    status = replace(status, job_deployment_status=phase.value, failed=failed, reason=reason, message=message)
    actions = (Action.STOP,) if reason in STOPS and state.ray.answered else ()
    event = Event("Retrying" if retried else "Failed", f"Attempt {failed} failed ({reason}): {message}", warning=True)
    return Decision(status, state.attempt, actions, (event,), wake_at=now)


def recorded(
    state: State, status: RayJobStatus, now: datetime, reason: str, message: str, said: JobStatus = JobStatus.NEW
) -> RayJobStatus:
    """The status with the attempt's row, Ray's word and the time of the end."""
    ray, attempt = state.ray, state.attempt
    number = attempt.number if attempt is not None else 1
    before = next((each for each in status.attempts or () if each.number == number), AttemptStatus())
    if not status.job_id:
        # A user's job that ended, or was suspended, before it was followed.
        status = replace(status, job_id=before.job_id or (state.chosen if ray.status is not JobStatus.NEW else ""))
    row = AttemptStatus(
        number=number,
        ray_cluster_name=status.ray_cluster_name,
        job_id=status.job_id,
        job_status=said.value or (ray.status.value if ray.status.ended else before.job_status),
        reason=reason,
        message=message,
        exit_code=ray.exit_code if ray.answered else before.exit_code,
        start_time=status.start_time,
        end_time=before.end_time if before.reason == reason else stamp(now),
        log_tail=_tail(state) or before.log_tail,
    )
    rows = [each for each in status.attempts or () if each.number != number]
    info = RayJobInfo(
        start_time=stamp(ray.start_time) if ray.start_time else _of(status, "start_time"),
        end_time=stamp(ray.end_time) if ray.end_time else None,
    )
    return replace(
        status,
        attempts=tuple([*rows, row][-MOST_ROWS:]),
        job_status=said.value,
        ray_job_info=info if info != RayJobInfo() else None,
        end_time=stamp(now),
        job_status_check_failure_start_time=None,
    )


def with_log(state: State, status: RayJobStatus) -> RayJobStatus:
    """The status with the log in the latest row, once it was read."""
    rows, tail = status.attempts or (), _tail(state)
    number = state.attempt.number if state.attempt is not None else 0
    if not tail or not rows or rows[-1].log_tail or rows[-1].number != number:
        return status
    return replace(status, attempts=(*rows[:-1], replace(rows[-1], log_tail=tail)))


def _tail(state: State) -> str:
    """The end of the driver's log, else of the submitter's."""
    return (state.log_tail or state.submitter_log)[-LONGEST_TAIL:]


def _of(status: RayJobStatus, name: str) -> str | None:
    return getattr(status.ray_job_info, name) if status.ray_job_info is not None else None
