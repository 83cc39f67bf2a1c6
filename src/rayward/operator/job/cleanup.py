"""After the end: the log is kept, then what the spec wants gone is deleted at its time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from rayward.kinds.rayjob import DeletionPolicy, JobStatus, RayJobSpec, RayJobStatus
from rayward.operator.job.annotations import moment
from rayward.operator.job.ending import STOPS, with_log
from rayward.operator.job.facts import Cluster, Hand, Submitter
from rayward.operator.job.state import PATIENCE, READ_AGAIN, STOP_AGAIN, Action, Decision, State

_SEVERITY: Final = {DeletionPolicy.WORKERS: 1, DeletionPolicy.CLUSTER: 2, DeletionPolicy.SELF: 3}
_RUNNING: Final = (Submitter.ACTIVE,)


def after_the_end(state: State, now: datetime) -> Decision:
    """What is due now: of several overdue steps the one that deletes most."""
    status = with_log(state, state.status)
    ended = moment(status.end_time) or now
    patient = now < ended + PATIENCE
    actions: tuple[Action, ...] = ()
    wake: datetime | None = None
    if state.log_tail is None and state.cluster is Cluster.READY and patient and not _has_log(status):
        actions, wake = (Action.READ_LOG,), min(now + READ_AGAIN, ended + PATIENCE)
    due = [(policy, ended + delay) for policy, delay in policies(state.spec, status)]
    pending = [(policy, time) for policy, time in due if not _done(state, policy)]
    overdue = [policy for policy, time in pending if time <= now]
    later = min((time for _, time in pending if time > now), default=None)
    waits = bool(actions) or (patient and state.hand is Hand.JOB and state.submitter in _RUNNING)
    if overdue and waits:
        # The log and the submitter's own end come first; both are waited for only so long.
        wake = min(time for time in (wake, ended + PATIENCE) if time is not None)
    elif overdue:
        actions += (_ACTIONS[max(overdue, key=lambda each: _SEVERITY[each])],)
    stopping = not overdue and may_run(state, now)
    if stopping and _may_come(state):
        if state.hand is Hand.JOB:
            actions += (Action.DELETE_SUBMITTER,)
    elif stopping and state.ray.answered:
        actions += state.stop(now)
    again = now + STOP_AGAIN if stopping else None
    wake = min((time for time in (wake, later, again) if time is not None), default=None)
    return Decision(status, state.attempt, actions, wake_at=wake, stopping=stopping)


def may_run(state: State, now: datetime) -> bool:
    """Whether Ray was to stop the job, and has not said that it did: the first request may not have reached it."""
    ended = moment(state.status.end_time) or now
    if state.status.reason not in STOPS or now >= ended + state.timeout:
        return False
    return state.cluster is Cluster.READY and (not state.ray.rests or _may_come(state))


def _may_come(state: State) -> bool:
    """Whether a submitter has not handed the job to Ray yet, and still may."""
    active = state.submitter in _RUNNING and state.hand in (Hand.JOB, Hand.SIDECAR)
    return active and state.ray.answered and state.ray.status is JobStatus.NEW


def policies(spec: RayJobSpec, status: RayJobStatus) -> list[tuple[DeletionPolicy, timedelta]]:
    """What goes, and how long after the end."""
    strategy = spec.deletion_strategy
    ttl = timedelta(seconds=spec.ttl_seconds_after_finished)
    found: list[tuple[str, timedelta]] = []
    if strategy is not None and strategy.deletion_rules:
        for rule in strategy.deletion_rules:
            condition = rule.condition
            matches = (
                condition.job_status == status.job_status
                if condition.job_status is not None
                else condition.job_deployment_status == status.job_deployment_status
            )
            if matches:
                found.append((rule.policy, timedelta(seconds=condition.ttl_seconds)))
    elif strategy is not None:
        chosen = strategy.on_success if status.job_status == "SUCCEEDED" else strategy.on_failure
        if chosen is not None and chosen.policy:
            found.append((chosen.policy, ttl))
    elif spec.shutdown_after_job_finishes:
        found.append((DeletionPolicy.CLUSTER, ttl))
    if spec.cluster_selector:
        found = [(policy, delay) for policy, delay in found if policy == DeletionPolicy.SELF]
    return [(DeletionPolicy(policy), delay) for policy, delay in found if policy in _ACTIONS]


def unmatched(spec: RayJobSpec, status: RayJobStatus) -> str:
    """What stays where no rule speaks of an end that its author may not have thought of; empty where one does."""
    strategy = spec.deletion_strategy
    ruled = strategy is not None and strategy.deletion_rules and not spec.cluster_selector
    if not ruled or status.job_status in (JobStatus.SUCCEEDED, JobStatus.FAILED) or policies(spec, status):
        return ""
    ended = f"jobStatus {status.job_status}" if status.job_status else f"reason {status.reason} and no jobStatus"
    cluster = status.ray_cluster_name
    # A rule cannot name a job that was stopped: the definitions know jobDeploymentStatus Failed only.
    rule = "add a rule for jobDeploymentStatus Failed, or " if status.job_deployment_status == "Failed" else ""
    return (
        f"The job ended with {ended}, and no rule of spec.deletionStrategy matches: RayCluster {cluster} stays; "
        f"{rule}delete it: kubectl delete raycluster {cluster}"
    )


def _done(state: State, policy: DeletionPolicy) -> bool:
    if policy is DeletionPolicy.SELF:
        return False
    if state.cluster in (Cluster.ABSENT, Cluster.DELETING):
        return True
    return policy is DeletionPolicy.WORKERS and state.workers_suspended


def _has_log(status: RayJobStatus) -> bool:
    rows = status.attempts or ()
    return bool(rows) and bool(rows[-1].log_tail)


_ACTIONS: Final = {
    DeletionPolicy.WORKERS: Action.SUSPEND_WORKERS,
    DeletionPolicy.CLUSTER: Action.DELETE_CLUSTER,
    DeletionPolicy.SELF: Action.DELETE_SELF,
}
