"""A RayJob is deleted: its job on somebody else's cluster is stopped first, one on its own goes with the cluster."""

from __future__ import annotations

from datetime import datetime

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import RayJobStatus
from rayward.operator.job import cleanup
from rayward.operator.job.annotations import moment
from rayward.operator.job.facts import GONE, Hand, Submitter
from rayward.operator.job.state import NOTICE, STOP_AGAIN, Action, Decision, Event, State


def finalize(state: State, now: datetime) -> Decision:
    """What is due before the finalizer goes; a head that stays silent is waited for as long as for a status."""
    until = (moment(state.job.metadata.deletion_timestamp) or now) + state.timeout
    if state.unanswered_since is not None:
        # The operator may have been away since: it asks for a while, too.
        until = max(until, state.unanswered_since + NOTICE)
    owed = state.attempt is not None and state.attempt.unstopped
    runs = state.phase in (Phase.RUNNING, Phase.SUSPENDING) or owed or cleanup.may_run(state, now)
    submits = state.hand is Hand.JOB and state.submitter is Submitter.ACTIVE
    gone = state.cluster in GONE or state.headless
    if not (state.selected and runs and not gone) or (state.ray.rests and not submits):
        return Decision(state.status, state.attempt, (Action.REMOVE_FINALIZER,))
    actions = (Action.DELETE_SUBMITTER,) if submits else ()
    actions += state.stop(now) if state.ray.runs else ()
    if now < until:
        return Decision(state.status, state.attempt, actions, wake_at=min(now + STOP_AGAIN, until), stopping=True)
    left = Event("NotStopped", _may_still_run(state.status), warning=True)
    return Decision(state.status, state.attempt, (*actions, Action.REMOVE_FINALIZER), (left,))


def _may_still_run(status: RayJobStatus) -> str:
    where = f"RayCluster {status.ray_cluster_name}"
    return f"Job {status.job_id} may still run on {where}, whose head did not say that it stopped: stop it there"
