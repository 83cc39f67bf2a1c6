"""From what was observed to what to write and do next: the row of the table that counts, carried into a status."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from rayward.kinds import labels, names
from rayward.kinds.packing import packed
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJobInfo, RayJobStatus
from rayward.operator.job import annotations as memory
from rayward.operator.job import cleanup, ending
from rayward.operator.job.annotations import Attempt, stamp
from rayward.operator.job.facts import Cluster, Facts, Hand, Ray
from rayward.operator.job.finalize import finalize
from rayward.operator.job.progress import progress
from rayward.operator.job.state import NOTICE, READ_AGAIN, STOP_AGAIN, Action, Decision, Event, State
from rayward.operator.job.status import news, reported, taken
from rayward.operator.job.table import Step, choose

_NAMING: Final = frozenset(("spec.clusterSelector", "spec.jobId", "spec.submissionMode"))
"""Fields that the names of an attempt follow from."""
_SUSPENDED: Final = ("Suspended", "Suspended by spec.suspend")
"""Reason and message of an attempt that was suspended."""


def decide(state: State, now: datetime) -> Decision:
    """What to do about a RayJob. The caller writes the attempt, then the status, and only then acts."""
    now = now.astimezone(UTC).replace(microsecond=0)
    state = _settling(_remembering(_listening(state, now)))
    if state.deleting:
        return finalize(state, now)
    facts = state.facts(now)
    decision = _STEPS[choose(facts).step](state, now, facts)
    if decision.attempt is not None and decision.status.job_deployment_status != state.status.job_deployment_status:
        decision = dataclasses.replace(decision, attempt=replace(decision.attempt, since=stamp(now)))
    decision = dataclasses.replace(
        decision,
        wake_at=_earliest(decision.wake_at, *_timers(state, decision)),
        stopping=decision.stopping or _is_owed(decision),
        progress=progress(
            decision.status,
            decision.attempt,
            selected=state.selected,
            absent=state.cluster is Cluster.ABSENT,
            submitter=names.submitter_job(state.job.metadata.name) if state.hand is Hand.JOB else "",
            chosen=state.chosen,
            uncreated=state.uncreated,
        ),
    )
    status = reported(state, decision, now)
    events = (*decision.events, *news(state.status, status), *_leftovers(state, status))
    return dataclasses.replace(decision, status=status, events=events)


def _listening(state: State, now: datetime) -> State:
    """With the silence of Ray put on record, or taken off it."""
    attempt = state.attempt
    if attempt is None:
        return state
    silent = attempt.silent_since
    if not state.is_unanswered:
        silent = ""
    elif not silent:
        began = state.unanswered_since
        if began is None or now - began >= NOTICE:
            silent = stamp(began or now)
    return state if silent == attempt.silent_since else _attempting(state, replace(attempt, silent_since=silent))


def _remembering(state: State) -> State:
    """With the fields that count at once put on record, so that an invalid edit finds what was in force before it."""
    attempt = state.attempt
    if attempt is None or not attempt.spec or state.problems or state.phase in (Phase.NEW, Phase.SUSPENDED):
        return state
    text = packed(state.spec)
    return state if text == attempt.spec else _attempting(state, replace(attempt, spec=text))


def _settling(state: State) -> State:
    """With the stop that a silent head owed taken off the record, once the job does not run, or cannot."""
    attempt = state.attempt
    if attempt is None or not attempt.unstopped or not (state.ray.rests or state.headless):
        return state
    return _attempting(state, replace(attempt, unstopped=False))


def _is_owed(decision: Decision) -> bool:
    """Whether the head has still to be asked for the stop of an attempt that is suspended."""
    suspended = decision.status.job_deployment_status == Phase.SUSPENDED
    return suspended and decision.attempt is not None and decision.attempt.unstopped


def _leftovers(state: State, status: RayJobStatus) -> tuple[Event, ...]:
    """What an end leaves there that its user may not expect, told once."""
    ended = Phase(status.job_deployment_status).ended and not state.phase.ended
    text = cleanup.unmatched(state.spec, status) if ended else ""
    return (Event("NoDeletionRule", text, warning=True),) if text else ()


def _attempting(state: State, attempt: Attempt) -> State:
    return dataclasses.replace(state, attempt=attempt)


def _reject(state: State, now: datetime, facts: Facts) -> Decision:
    status = replace(
        state.status,
        job_deployment_status=Phase.VALIDATION_FAILED.value,
        reason="ValidationFailed",
        message=state.problems,
    )
    return Decision(status, state.attempt, events=(Event("InvalidRayJobSpec", state.problems, warning=True),))


def _hold(state: State, now: datetime, facts: Facts) -> Decision:
    status = replace(state.status, job_deployment_status=Phase.SUSPENDED.value, reason="", message="")
    return Decision(status, state.attempt)


def _start(state: State, now: datetime, facts: Facts) -> Decision:
    """A new attempt by the spec of now; one that is on record and was not begun goes on under its own names."""
    job, before = state.job, state.attempt
    spec = job.spec if not state.problems else state.spec
    number = (before.number if before is not None else 0) + 1
    if before is not None and _is_unbegun(before, state) and not memory.ignored(before, spec):
        attempt = before
    else:
        selected = (spec.cluster_selector or {}).get(labels.CLUSTER, "")
        interactive = spec.submission_mode == Hand.USER
        attempt = Attempt(
            number=number,
            job_id="" if interactive else spec.job_id or names.submission_id(job.metadata.name, state.suffix),
            cluster=selected or names.child_cluster(job.metadata.name, state.suffix),
            **memory.frozen(spec),
        )
    status = replace(
        state.status,
        job_deployment_status=Phase.INITIALIZING.value,
        job_id=attempt.job_id,
        ray_cluster_name=attempt.cluster,
        ray_cluster_status=None,
        dashboard_url="",
        job_status="",
        reason="",
        message="",
        start_time=stamp(now),
        end_time=None,
        ray_job_info=None,
        job_status_check_failure_start_time=None,
        succeeded=state.status.succeeded or 0,
        failed=state.status.failed or 0,
    )
    actions = () if spec.cluster_selector else (Action.CREATE_CLUSTER,)
    return Decision(status, attempt, actions)


def _is_unbegun(attempt: Attempt, state: State) -> bool:
    """Whether the attempt was put on record and the status was not written any more."""
    return (attempt.cluster, attempt.job_id) != (state.status.ray_cluster_name, state.status.job_id)


def _create_cluster(state: State, now: datetime, facts: Facts) -> Decision:
    return _unfixed(state, now, facts)


def _unfixed(state: State, now: datetime, facts: Facts) -> Decision:
    """Until its cluster exists nothing of an attempt is fixed: an edit of this time still counts."""
    attempt, status = state.attempt, state.status
    edited = memory.ignored(attempt, state.job.spec)
    if attempt is not None and (not _NAMING.isdisjoint(edited) or _is_unbegun(attempt, state)):
        return dataclasses.replace(_start(state, now, facts), wake_at=now)
    if attempt is not None and edited:
        attempt = replace(attempt, **memory.frozen(state.job.spec))
    if not state.selected:
        status = replace(status, job_deployment_status=Phase.INITIALIZING.value)
    return Decision(status, attempt, () if state.selected else (Action.CREATE_CLUSTER,))


def _await_cluster(state: State, now: datetime, facts: Facts) -> Decision:
    """A cluster that is not there may be a mistyped name: the correction counts at once."""
    return _unfixed(state, now, facts)


def _await_user(state: State, now: datetime, facts: Facts) -> Decision:
    status = replace(state.status, job_deployment_status=Phase.WAITING.value)
    return Decision(replace(status, ray_cluster_status=state.cluster_status), state.attempt)


def _arm(state: State, now: datetime, facts: Facts) -> Decision:
    """The session is on record before anything is sent there; what Ray already has is followed at once."""
    attempt = state.attempt or Attempt(number=1, cluster=state.status.ray_cluster_name, job_id=state.status.job_id)
    if state.rival and not attempt.session and state.hand is not Hand.USER:
        return ending.fail(state, now, "SubmissionFailed", taken(state.status, f" of {state.rival}"))
    if not attempt.session:
        attempt = replace(attempt, session=state.ray.session)
    if state.hand is Hand.USER:
        attempt = replace(attempt, job_id=state.job.spec.job_id)
    status = replace(
        state.status,
        job_deployment_status=Phase.RUNNING.value,
        job_id=attempt.job_id,
        ray_cluster_name=attempt.cluster,
        ray_cluster_status=state.cluster_status or state.status.ray_cluster_status,
    )
    return _seen(state, Decision(status, attempt, wake_at=now))


def _submit(state: State, now: datetime, facts: Facts) -> Decision:
    if state.refusal:
        return ending.fail(state, now, "SubmissionFailed", state.refusal)
    return Decision(state.status, state.attempt, (Action.SUBMIT,))


def _send(state: State, now: datetime, facts: Facts) -> Decision:
    if state.refusal:
        return ending.fail(state, now, "SubmissionFailed", state.refusal)
    return Decision(state.status, state.attempt, (Action.CREATE_SUBMITTER,))


def _follow(state: State, now: datetime, facts: Facts) -> Decision:
    return _seen(state, Decision(state.status, state.attempt))


def _seen(state: State, decision: Decision) -> Decision:
    """With what Ray said of the job, if it said anything that does not end it."""
    ray = state.ray
    if not ray.answered or ray.status is JobStatus.NEW or ray.status.ended:
        return decision
    info = RayJobInfo(start_time=stamp(ray.start_time) if ray.start_time else None)
    return dataclasses.replace(
        decision, status=replace(decision.status, job_status=ray.status.value, ray_job_info=info)
    )


def _wait(state: State, now: datetime, facts: Facts) -> Decision:
    until = state.patient_until() if facts.phase is Phase.SUSPENDING and facts.patient else None
    return Decision(state.status, state.attempt, wake_at=until)


def _read_log(state: State, now: datetime, facts: Facts) -> Decision:
    again = _earliest(state.patient_until(), now + READ_AGAIN)
    return Decision(state.status, state.attempt, (Action.READ_LOG,), wake_at=again)


def _read_submitter(state: State, now: datetime, facts: Facts) -> Decision:
    return Decision(state.status, state.attempt, (Action.READ_SUBMITTER_LOG,), wake_at=now + READ_AGAIN)


def _suspend(state: State, now: datetime, facts: Facts) -> Decision:
    status = replace(state.status, job_deployment_status=Phase.SUSPENDING.value)
    return Decision(status, state.attempt, wake_at=now, events=(Event("Suspending", "Suspending the RayJob"),))


def _stop(state: State, now: datetime, facts: Facts) -> Decision:
    until = state.patient_until() if facts.patient else None
    return Decision(state.status, state.attempt, state.stop(now), wake_at=_earliest(until, now + STOP_AGAIN))


def _tear_down(state: State, now: datetime, facts: Facts) -> Decision:
    actions = () if state.selected else (Action.DELETE_CLUSTER,)
    if state.hand is Hand.JOB:
        actions = (Action.DELETE_SUBMITTER, *actions)
    if state.phase is Phase.SUSPENDING:
        # The log is in the row before the cluster goes, whatever becomes of this process.
        rows = ending.recorded(state, state.status, now, *_SUSPENDED).attempts
        return Decision(replace(state.status, attempts=rows), state.attempt, actions)
    return Decision(ending.with_log(state, state.status), state.attempt, actions)


def _suspended(state: State, now: datetime, facts: Facts) -> Decision:
    status, attempt = state.status, state.attempt
    events = (Event("Suspended", "Suspended the RayJob"),)
    if state.id_taken:
        events += (Event("JobIdTaken", taken(status), warning=True),)
    rests = state.ray.rests or state.headless
    if attempt is not None and facts.selected and facts.armed and not rests:
        attempt = replace(attempt, unstopped=True)
    if state.phase is Phase.SUSPENDING:
        status = ending.recorded(state, status, now, *_SUSPENDED)
    status = replace(
        status,
        job_deployment_status=Phase.SUSPENDED.value,
        job_status="",
        reason="",
        message="",
        dashboard_url="",
        ray_cluster_status=None,
        ray_job_info=None,
    )
    return Decision(status, attempt, events=events)


def _clean_up(state: State, now: datetime, facts: Facts) -> Decision:
    return cleanup.after_the_end(state, now)


def _fail_submission(state: State, now: datetime, facts: Facts) -> Decision:
    if facts.phase is Phase.INITIALIZING and facts.ray is not Ray.SILENT:
        text = taken(state.status)
    elif facts.phase is Phase.INITIALIZING:
        text = (
            f"The dashboard of RayCluster {state.status.ray_cluster_name} has not answered, and nothing was submitted"
        )
    else:
        said = f": {state.submitter_message}" if state.submitter_message else ""
        text = f"The submitter ended and Ray has no job {state.status.job_id}{said}"
    return ending.fail(state, now, "SubmissionFailed", text)


def _fail_unknown(state: State, now: datetime, facts: Facts) -> Decision:
    last = f"; last seen {state.status.job_status}" if state.status.job_status else ""
    lost = "the Ray head that had the job is gone"
    cause = {
        Ray.LOST: lost if state.ray.head_lost else f"{lost}, and its successor does not know it",
        Ray.SILENT: f"the dashboard has not answered for {state.timeout.total_seconds():.0f} seconds",
        Ray.UNKNOWN: "Ray does not have the job any more",
    }.get(facts.ray, "the RayCluster was deleted")
    text = f"It is unknown how job {state.status.job_id} ended: {cause}{last}"
    return ending.fail(state, now, "OutcomeUnknown", text)


def _fail_deadline(state: State, now: datetime, facts: Facts) -> Decision:
    seconds = state.spec.active_deadline_seconds
    return ending.fail(
        state, now, "DeadlineExceeded", f"The attempt took more than {seconds} s (activeDeadlineSeconds)"
    )


def _fail_start(state: State, now: datetime, facts: Facts) -> Decision:
    seconds = state.spec.pre_running_deadline_seconds
    text = f"The job was not submitted within {seconds} s (preRunningDeadlineSeconds)"
    return ending.fail(state, now, "PreRunningDeadlineExceeded", text)


def _timers(state: State, decision: Decision) -> tuple[datetime | None, ...]:
    unanswered = state.unanswered_since if state.is_unanswered else None
    silence = state.silent_until() or (unanswered + NOTICE if unanswered is not None else None)
    if decision.status.job_deployment_status == Phase.SUSPENDING:
        return (silence,)
    if decision.status.job_deployment_status not in (Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING):
        return ()
    return *state.deadlines(), silence


def _earliest(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time is not None), default=None)


_STEPS: Final[dict[Step, Callable[[State, datetime, Facts], Decision]]] = {
    Step.REJECT: _reject,
    Step.HOLD: _hold,
    Step.START: _start,
    Step.RETRY: _start,
    Step.CREATE_CLUSTER: _create_cluster,
    Step.AWAIT_CLUSTER: _await_cluster,
    Step.AWAIT_USER: _await_user,
    Step.ARM: _arm,
    Step.SUBMIT: _submit,
    Step.SEND: _send,
    Step.FOLLOW: _follow,
    Step.WAIT: _wait,
    Step.READ_LOG: _read_log,
    Step.READ_SUBMITTER: _read_submitter,
    Step.SUCCEED: ending.succeeded,
    Step.END_STOPPED: ending.stopped,
    Step.FAIL_APP: ending.app_failed,
    Step.FAIL_SUBMISSION: _fail_submission,
    Step.FAIL_UNKNOWN: _fail_unknown,
    Step.FAIL_DEADLINE: _fail_deadline,
    Step.FAIL_START: _fail_start,
    Step.SUSPEND: _suspend,
    Step.STOP: _stop,
    Step.TEAR_DOWN: _tear_down,
    Step.SUSPENDED: _suspended,
    Step.CLEAN_UP: _clean_up,
}
