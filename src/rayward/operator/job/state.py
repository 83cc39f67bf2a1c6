"""What a decision reads and what it says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from rayward.kinds import labels
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJob, RayJobSpec, RayJobStatus, SubmissionMode
from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object
from rayward.operator.job.annotations import Attempt, moment
from rayward.operator.job.facts import GONE, Cluster, Deadline, Facts, Hand, Intent, Ray, Submitter

STATUS_CHECK_TIMEOUT: Final = timedelta(seconds=300)
"""How long Ray may say nothing before the outcome counts as unknown; an annotation of the RayJob changes it."""
PATIENCE: Final = timedelta(seconds=30)
"""How long an end waits for what is nice to have: a graceful stop, the end of a log, the submitter's own end."""
NOTICE: Final = timedelta(seconds=10)
"""How long a silence lasts before it is put on record, from where it outlives the operator."""
READ_AGAIN: Final = timedelta(seconds=2)
"""How long after a log could not be read, or said nothing yet, it is read again."""
STOP_AGAIN: Final = timedelta(seconds=5)
"""How long after a request to stop the next one is sent: Ray gives a driver three seconds."""


@dataclass(frozen=True, slots=True)
class RayView:
    """The latest answer of the head: its session, and the job if it has one.

    ``answered`` is False while the last look failed; what was seen before it does not count.
    """

    answered: bool = False
    session: str = ""
    status: JobStatus = JobStatus.NEW
    message: str = ""
    exit_code: int | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    driver_lost: bool = False
    """Whether the node of the driver died, whatever ``status`` says."""
    head_lost: bool = False
    """Whether the head is gone and no other one comes, as in SidecarMode."""

    @property
    def runs(self) -> bool:
        """Whether Ray says that the job goes on."""
        return self.answered and self.status in (JobStatus.PENDING, JobStatus.RUNNING) and not self.driver_lost

    @property
    def rests(self) -> bool:
        """Whether Ray says that the job does not go on; a head that is silent says neither."""
        return self.answered and not self.runs


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a decision may look at."""

    job: RayJob
    attempt: Attempt | None
    spec: RayJobSpec
    """The spec in force."""
    problems: str = ""
    """Why the user's present spec cannot be acted upon."""
    cluster: Cluster = Cluster.ABSENT
    headless: bool = False
    """Whether the cluster is there without a head, and nothing of a head before can run on it."""
    cluster_status: Object | None = None
    """The cluster's own status, where the attempt may begin on it now."""
    submitter: Submitter = Submitter.NONE
    submitter_message: str = ""
    ray: RayView = RayView()
    workers_suspended: bool = False
    """Whether all worker groups of the cluster are suspended already."""
    log_tail: str | None = None
    """The end of the driver's log; None until it was read or could not be."""
    submitter_log: str = ""
    """The end of the submitter's log, where that was read."""
    quota: Condition | None = None
    """Whether its cluster has quota, with the cluster's name before its own words; None where it is in no queue."""
    refusal: str = ""
    """Why the submission will never be taken."""
    uncreated: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why the server refuses to create a child, by the child's kind."""
    rival: str = ""
    """Another RayJob that submits under the same id to the same cluster."""
    unanswered_since: datetime | None = None
    """Since when this process asks and gets no answer; a short silence is not worth a write."""
    lost_since: datetime | None = None
    """Since when this process knows of nobody but a submitter that still runs who may know the end."""
    stop_sent: datetime | None = None
    """When this process last asked Ray to stop the job."""
    timeout: timedelta = STATUS_CHECK_TIMEOUT
    retry_unknown: bool = False
    """Whether an attempt that may have succeeded is followed by another one."""
    suffix: str = ""
    """Five random characters for the names of a new attempt."""
    deleting: bool = False

    @property
    def status(self) -> RayJobStatus:
        """The status as last written."""
        return self.job.status

    @property
    def phase(self) -> Phase:
        """Where the job is; what nobody ever wrote counts as the beginning."""
        text = self.status.job_deployment_status
        return Phase(text) if text in _PHASES else Phase.NEW

    @property
    def chosen(self) -> str:
        """In InteractiveMode the id that the user gave, unless it is of a job of an earlier attempt."""
        given = self.job.spec.job_id
        return given if self.hand is Hand.USER and not had(self.status, given, self.status.ray_cluster_name) else ""

    @property
    def selected(self) -> bool:
        """Whether the cluster is not the job's own."""
        return bool(self.spec.cluster_selector)

    @property
    def id_taken(self) -> bool:
        """Whether the next attempt by the spec of now would find the id of this one on its cluster."""
        attempt, asked = self.attempt, self.job.spec
        if attempt is None or not attempt.session or self.hand not in (Hand.OPERATOR, Hand.JOB):
            return False
        selected = (asked.cluster_selector or {}).get(labels.CLUSTER)
        return (selected, asked.job_id) == (attempt.cluster, attempt.job_id)

    @property
    def hand(self) -> Hand:
        return _HANDS.get(self.spec.submission_mode, Hand.JOB)

    def facts(self, now: datetime) -> Facts:
        """The cell of the table that this is."""
        return Facts(
            phase=self.phase,
            intent=self._intent(),
            cluster=self.cluster,
            submitter=self.submitter if self.hand in (Hand.JOB, Hand.SIDECAR) else Submitter.NONE,
            ray=self._ray(now),
            deadline=self._deadline(now),
            hand=self.hand,
            selected=self.selected,
            armed=self.attempt is not None and bool(self.attempt.session),
            unstopped=self.attempt is not None and self.attempt.unstopped,
            patient=self._patient(now),
        )

    @property
    def is_unanswered(self) -> bool:
        """Whether the head ought to answer and does not; before it is ready nobody can say anything."""
        return not self.ray.answered and (
            self.phase is Phase.RUNNING
            or (self.phase in (Phase.INITIALIZING, Phase.WAITING) and self.cluster is Cluster.READY)
            or ((self.phase is Phase.SUSPENDING or self.deleting) and self.selected)
        )

    def waiting_since(self, before: datetime | None, now: datetime) -> State:
        """With since when this process asks and gets no answer; ``before`` is what it knew a moment ago."""
        since = (before or now.replace(microsecond=0)) if self.is_unanswered else None
        return dataclasses.replace(self, unanswered_since=since)

    def losing_since(self, before: datetime | None, now: datetime) -> State:
        """With since when nobody but a submitter that still runs may know the end; ``before`` as above."""
        alone = (
            self.phase is Phase.RUNNING
            and self.submitter is Submitter.ACTIVE
            and (self.cluster in GONE or self._ray(now) in (Ray.LOST, Ray.SILENT))
        )
        return dataclasses.replace(self, lost_since=(before or now.replace(microsecond=0)) if alone else None)

    def silent_until(self) -> datetime | None:
        """When silence becomes an unknown outcome: not before this process has asked for a while itself.

        The operator may have been away, and nobody knows whether the head was silent all the time.
        """
        began = moment(self.attempt.silent_since) if self.attempt is not None else None
        if began is None:
            return None
        asked = self.unanswered_since + NOTICE if self.unanswered_since is not None else began
        return max(began + self.timeout, asked)

    def deadlines(self) -> tuple[datetime | None, datetime | None]:
        """Of the attempt, and of its start; neither runs while the cluster waits for quota."""
        began = moment(self.status.start_time)
        if began is None or (self.quota is not None and self.quota.status == "False"):
            return None, None
        admitted = moment(self.quota.last_transition_time) if self.quota is not None else None
        began = max(began, admitted) if admitted is not None else began
        active, start = self.spec.active_deadline_seconds, self.spec.pre_running_deadline_seconds
        return (
            began + timedelta(seconds=active) if active else None,
            began + timedelta(seconds=start) if start else None,
        )

    def patient_until(self) -> datetime | None:
        """When the present phase stops waiting."""
        began = moment(self.attempt.since) if self.attempt is not None else None
        return began + PATIENCE if began is not None else None

    def stop(self, now: datetime) -> tuple[Action, ...]:
        """The request to stop, unless it was sent a moment ago."""
        recent = self.stop_sent is not None and now < self.stop_sent + STOP_AGAIN
        return () if recent else (Action.STOP,)

    def _intent(self) -> Intent:
        if self.problems:
            return Intent.INVALID
        return Intent.SUSPEND if self.job.spec.suspend else Intent.RUN

    def _ray(self, now: datetime) -> Ray:
        if not self.ray.answered:
            if self.ray.head_lost and self.phase is Phase.RUNNING:
                return Ray.LOST
            if self.headless and self.phase is Phase.SUSPENDING:
                return Ray.LOST
            until = self.silent_until()
            return Ray.SILENT if until is not None and now >= until else Ray.NO_ANSWER
        if self.ray.driver_lost and not self.ray.status.ended:
            return Ray.LOST
        if self.ray.status is not JobStatus.NEW:
            return Ray(self.ray.status.value)
        session = self.attempt.session if self.attempt is not None else ""
        if session and session != self.ray.session:
            return Ray.LOST
        # A session that had the job and has it no more was told to forget it after its end.
        seen = self.phase is Phase.RUNNING and bool(self.status.job_status)
        return Ray.LOST if seen else Ray.UNKNOWN

    def _deadline(self, now: datetime) -> Deadline:
        active, start = self.deadlines()
        if active is not None and now >= active:
            return Deadline.ACTIVE
        return Deadline.START if start is not None and now >= start else Deadline.NONE

    def _patient(self, now: datetime) -> bool:
        if self.phase is Phase.RUNNING:
            return self.lost_since is not None and now < self.lost_since + PATIENCE
        until = self.patient_until()
        if until is None or now >= until:
            return False
        return self.phase not in (Phase.RETRYING, Phase.SUSPENDING) or self.log_tail is None


def had(status: RayJobStatus, job_id: str, cluster: str) -> bool:
    """Whether an attempt that ended had this job on this cluster."""
    return any((row.job_id, row.ray_cluster_name) == (job_id, cluster) for row in status.attempts or ())


class Action(StrEnum):
    """What is to be done; each may be done twice."""

    CREATE_CLUSTER = "CreateCluster"
    DELETE_CLUSTER = "DeleteCluster"
    SUSPEND_WORKERS = "SuspendWorkers"
    CREATE_SUBMITTER = "CreateSubmitter"
    DELETE_SUBMITTER = "DeleteSubmitter"
    READ_SUBMITTER_LOG = "ReadSubmitterLog"
    SUBMIT = "Submit"
    STOP = "Stop"
    READ_LOG = "ReadLog"
    DELETE_SELF = "DeleteSelf"
    REMOVE_FINALIZER = "RemoveFinalizer"


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell about once."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to write, then what to do, and when to look again at the latest."""

    status: RayJobStatus
    attempt: Attempt | None
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = field(default=())
    wake_at: datetime | None = None
    progress: str = ""
    """What it waits for, as users read it."""
    stopping: bool = False
    """Whether a job that has ended for us may still run in Ray, which is asked until it does not."""


_PHASES: Final = frozenset(Phase)
_HANDS: Final = {
    SubmissionMode.HTTP.value: Hand.OPERATOR,
    SubmissionMode.K8S_JOB.value: Hand.JOB,
    SubmissionMode.SIDECAR.value: Hand.SIDECAR,
    SubmissionMode.INTERACTIVE.value: Hand.USER,
}

__all__ = [
    "NOTICE",
    "PATIENCE",
    "READ_AGAIN",
    "STATUS_CHECK_TIMEOUT",
    "Action",
    "Decision",
    "Event",
    "RayView",
    "State",
]
