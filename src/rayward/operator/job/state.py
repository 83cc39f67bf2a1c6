"""What a decision reads and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJob, RayJobSpec, RayJobStatus, SubmissionMode
from rayward.kube.core.objects import Condition
from rayward.operator.job.annotations import Attempt, moment
from rayward.operator.job.facts import Cluster, Deadline, Facts, Hand, Intent, Ray, Submitter

STATUS_CHECK_TIMEOUT: Final = timedelta(seconds=300)
"""How long Ray may say nothing before the outcome counts as unknown; an annotation of the RayJob changes it."""
PATIENCE: Final = timedelta(seconds=30)
"""How long an end waits for what is nice to have: a graceful stop, the end of a log, the submitter's own end."""
NOTICE: Final = timedelta(seconds=10)
"""How long a silence lasts before it is put on record, from where it outlives the operator."""
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
    submitter: Submitter = Submitter.NONE
    submitter_message: str = ""
    ray: RayView = RayView()
    workers_suspended: bool = False
    """Whether all worker groups of the cluster are suspended already."""
    log_tail: str | None = None
    """The end of the driver's log; None until it was read or could not be."""
    quota: Condition | None = None
    """Whether its cluster has quota, with the cluster's name before its own words; None where it is in no queue."""
    refusal: str = ""
    """Why Ray will never take the submission."""
    unanswered_since: datetime | None = None
    """Since when this process waits for an answer; a short wait is not worth a write."""
    stop_sent: datetime | None = None
    """When this process last asked Ray to stop the job."""
    timeout: timedelta = STATUS_CHECK_TIMEOUT
    retry_unknown: bool = True
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
    def selected(self) -> bool:
        """Whether the cluster is not the job's own."""
        return bool(self.spec.cluster_selector)

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
            patient=self._patient(now),
        )

    def silent_until(self) -> datetime | None:
        """When silence becomes an unknown outcome."""
        began = moment(self.attempt.silent_since) if self.attempt is not None else None
        return began + self.timeout if began is not None else None

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
        until = self.patient_until()
        if until is None or now >= until:
            return False
        return self.phase is not Phase.RETRYING or self.log_tail is None


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

__all__ = ["NOTICE", "PATIENCE", "STATUS_CHECK_TIMEOUT", "Action", "Decision", "Event", "RayView", "State"]
