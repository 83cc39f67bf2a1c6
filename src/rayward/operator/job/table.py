"""The state machine: what to do in every situation, as one table. The first row that matches counts.

What Ray said counts before anything else: a job that ended is not suspended, timed out or retried any more. Nothing is
submitted but to the session on record, and only while that session has never known the job.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.operator.job.facts import GONE, KNOWN, Cluster, Deadline, Facts, Hand, Intent, Ray, Submitter


class Step(StrEnum):
    REJECT = "report the problems"
    HOLD = "suspend before the start"
    START = "start an attempt"
    CREATE_CLUSTER = "create the cluster"
    AWAIT_CLUSTER = "wait for the cluster that clusterSelector names"
    AWAIT_USER = "wait for the user's job"
    ARM = "record Ray's session"
    SUBMIT = "submit"
    SEND = "create the submitter"
    FOLLOW = "follow Ray"
    READ_LOG = "read the driver's log"
    READ_SUBMITTER = "read the submitter's log"
    WAIT = "wait"
    SUCCEED = "complete: succeeded"
    END_STOPPED = "complete: stopped"
    FAIL_APP = "fail: AppFailed"
    FAIL_SUBMISSION = "fail: SubmissionFailed"
    FAIL_UNKNOWN = "fail: OutcomeUnknown"
    FAIL_DEADLINE = "fail: DeadlineExceeded"
    FAIL_START = "fail: PreRunningDeadlineExceeded"
    SUSPEND = "begin to suspend"
    STOP = "stop the job"
    TEAR_DOWN = "delete cluster and submitter"
    SUSPENDED = "suspended"
    RETRY = "start the next attempt"
    CLEAN_UP = "clean up"


@dataclass(frozen=True, slots=True)
class Row:
    """One rule; a circumstance that it does not name does not matter."""

    step: Step
    why: str
    phase: frozenset[Phase]
    where: dict[str, frozenset[Any]]

    def matches(self, facts: Facts) -> bool:
        """Whether the rule speaks of these facts."""
        return facts.phase in self.phase and all(getattr(facts, name) in values for name, values in self.where.items())


def _row(step: Step, why: str, *phases: Phase, **where: Any) -> Row:
    return Row(step, why, frozenset(phases), {name: _set(value) for name, value in where.items()})


def _set(value: Any) -> frozenset[Any]:
    return cast("frozenset[Any]", value) if isinstance(value, frozenset) else frozenset((value,))


_UNASSURED: Final = frozenset((Ray.NO_ANSWER, Ray.SILENT, Ray.UNKNOWN, Ray.LOST))
_FINISHED: Final = frozenset((Submitter.ENDED, Submitter.FAILED))
_ALIVE: Final = frozenset((Cluster.STARTING, Cluster.READY))
_SUBMITTERS: Final = frozenset((Hand.JOB, Hand.SIDECAR))
_SENDERS: Final = frozenset((Hand.OPERATOR, Hand.JOB))

N, I, W, R = Phase.NEW, Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING  # noqa: E741 - columns of the table
S, T = Phase.SUSPENDING, Phase.RETRYING

TABLE: Final = (
    _row(
        Step.REJECT,
        "nothing runs yet, and the spec cannot be acted upon",
        N,
        Phase.VALIDATION_FAILED,
        intent=Intent.INVALID,
    ),
    _row(Step.HOLD, "suspended from birth", N, Phase.VALIDATION_FAILED, intent=Intent.SUSPEND),
    _row(Step.START, "", N, Phase.VALIDATION_FAILED, intent=Intent.RUN),
    #
    _row(Step.SUCCEED, "Ray said so", R, S, ray=Ray.SUCCEEDED),
    _row(Step.FAIL_APP, "Ray said so", R, ray=Ray.FAILED),
    _row(Step.END_STOPPED, "Ray said so", R, ray=Ray.STOPPED),
    _row(Step.SUCCEED, "Ray told the submitter", R, S, submitter=Submitter.SAID_SUCCEEDED, ray=_UNASSURED),
    _row(Step.FAIL_APP, "Ray told the submitter", R, submitter=Submitter.SAID_FAILED, ray=_UNASSURED),
    _row(Step.END_STOPPED, "Ray told the submitter", R, submitter=Submitter.SAID_STOPPED, ray=_UNASSURED),
    _row(Step.READ_SUBMITTER, "Ray may have told it the end", R, submitter=Submitter.UNREAD, ray=_UNASSURED),
    #
    _row(Step.SUSPEND, "", I, W, R, intent=Intent.SUSPEND),
    _row(Step.FAIL_DEADLINE, "", I, W, R, deadline=Deadline.ACTIVE),
    _row(Step.FAIL_START, "", I, W, deadline=Deadline.START),
    #
    _row(Step.ARM, "recorded before a restart", I, W, armed=True),
    _row(Step.CREATE_CLUSTER, "", I, intent=Intent.RUN, cluster=Cluster.ABSENT, selected=False),
    _row(
        Step.AWAIT_CLUSTER,
        "nothing is fixed yet: an edit counts",
        I,
        W,
        intent=Intent.RUN,
        cluster=Cluster.ABSENT,
        selected=True,
    ),
    _row(Step.WAIT, "for the cluster, or a spec to make it from", I, cluster=frozenset((*GONE, Cluster.STARTING))),
    _row(Step.AWAIT_USER, "", I, hand=Hand.USER),
    _row(
        Step.FAIL_SUBMISSION,
        "the id belongs to another job",
        I,
        hand=_SENDERS,
        selected=True,
        submitter=Submitter.NONE,
        ray=KNOWN,
    ),
    _row(Step.FAIL_SUBMISSION, "nothing was submitted", I, ray=Ray.SILENT),
    _row(Step.WAIT, "for the dashboard", I, ray=Ray.NO_ANSWER),
    _row(Step.ARM, "", I),
    #
    _row(
        Step.CREATE_CLUSTER,
        "the cluster is gone and nothing ran",
        W,
        intent=Intent.RUN,
        cluster=Cluster.ABSENT,
        selected=False,
    ),
    _row(Step.WAIT, "for the cluster, or a spec to make it from", W, cluster=frozenset((*GONE, Cluster.STARTING))),
    _row(Step.ARM, "the user's job is there", W, ray=KNOWN),
    _row(Step.WAIT, "for the user's job", W),
    #
    _row(
        Step.READ_SUBMITTER,
        "the cluster is gone, and Ray may have told it the end",
        R,
        cluster=GONE,
        submitter=Submitter.ACTIVE,
        patient=True,
    ),
    _row(
        Step.READ_SUBMITTER,
        "the head is lost, and Ray may have told it the end",
        R,
        ray=frozenset((Ray.LOST, Ray.SILENT)),
        submitter=Submitter.ACTIVE,
        patient=True,
    ),
    _row(Step.FAIL_UNKNOWN, "the cluster is gone", R, cluster=GONE),
    _row(Step.FAIL_UNKNOWN, "the head that had the job is gone", R, ray=Ray.LOST),
    _row(Step.FAIL_UNKNOWN, "the dashboard does not answer", R, ray=Ray.SILENT),
    _row(Step.ARM, "taken over from KubeRay", R, ray=frozenset((*KNOWN, Ray.UNKNOWN)), armed=False),
    _row(Step.FOLLOW, "", R, ray=frozenset((Ray.PENDING, Ray.RUNNING))),
    _row(Step.WAIT, "for the dashboard", R, ray=Ray.NO_ANSWER),
    _row(Step.SUBMIT, "", R, ray=Ray.UNKNOWN, hand=Hand.OPERATOR),
    _row(Step.SEND, "", R, ray=Ray.UNKNOWN, hand=Hand.JOB, submitter=Submitter.NONE),
    _row(Step.FAIL_SUBMISSION, "", R, ray=Ray.UNKNOWN, hand=_SUBMITTERS, submitter=_FINISHED),
    _row(Step.WAIT, "for the submitter", R, ray=Ray.UNKNOWN, hand=_SUBMITTERS),
    _row(Step.FAIL_UNKNOWN, "Ray has no such job any more", R, ray=Ray.UNKNOWN),
    #
    _row(Step.STOP, "", S, ray=frozenset((Ray.PENDING, Ray.RUNNING)), cluster=Cluster.READY, patient=True),
    _row(Step.STOP, "", S, ray=frozenset((Ray.PENDING, Ray.RUNNING)), cluster=_ALIVE, selected=True),
    _row(Step.WAIT, "for the dashboard", S, ray=Ray.NO_ANSWER, cluster=_ALIVE, selected=True),
    _row(Step.WAIT, "for the dashboard", S, ray=Ray.NO_ANSWER, cluster=Cluster.READY, armed=True, patient=True),
    _row(Step.READ_LOG, "it goes with the cluster", S, cluster=Cluster.READY, armed=True, patient=True),
    _row(Step.TEAR_DOWN, "", S, submitter=frozenset(Submitter) - {Submitter.NONE}, hand=Hand.JOB),
    _row(Step.SUSPENDED, "", S, selected=True),
    _row(Step.SUSPENDED, "", S, cluster=Cluster.ABSENT),
    _row(Step.TEAR_DOWN, "", S),
    _row(
        Step.TEAR_DOWN,
        "made a moment before it was suspended",
        Phase.SUSPENDED,
        cluster=_ALIVE,
        selected=False,
    ),
    _row(
        Step.STOP,
        "its head was silent when it was suspended",
        Phase.SUSPENDED,
        unstopped=True,
        cluster=_ALIVE,
        ray=frozenset((Ray.PENDING, Ray.RUNNING)),
    ),
    _row(Step.WAIT, "for a head that may still run the job", Phase.SUSPENDED, unstopped=True, cluster=_ALIVE),
    _row(Step.START, "resumed", Phase.SUSPENDED, intent=Intent.RUN),
    _row(Step.WAIT, "until it is resumed, with a valid spec", Phase.SUSPENDED),
    #
    _row(Step.READ_LOG, "it goes with the cluster", T, cluster=Cluster.READY, patient=True),
    _row(Step.TEAR_DOWN, "", T, submitter=frozenset(Submitter) - {Submitter.NONE}, hand=Hand.JOB),
    _row(Step.TEAR_DOWN, "", T, cluster=frozenset(Cluster) - {Cluster.ABSENT}, selected=False),
    _row(Step.SUSPENDED, "", T, intent=Intent.SUSPEND),
    _row(Step.RETRY, "", T, intent=Intent.RUN),
    _row(Step.WAIT, "until the spec is corrected", T),
    #
    _row(Step.CLEAN_UP, "", Phase.COMPLETE, Phase.FAILED),
)


def choose(facts: Facts) -> Row:
    """The row that counts; every situation has one."""
    return next(row for row in TABLE if row.matches(facts))


def rendered() -> str:
    """The table as a page of Markdown."""
    lines = ["| phase | when | what | why |", "|---|---|---|---|"]
    for row in TABLE:
        phases = ", ".join(each.value or "New" for each in Phase if each in row.phase)
        when = "; ".join(f"{name} is {_listed(values)}" for name, values in row.where.items()) or "otherwise"
        lines.append(f"| {phases} | {when} | {row.step} | {row.why} |")
    return "\n".join(lines) + "\n"


def _listed(values: frozenset[Any]) -> str:
    if values <= {True, False}:
        return "yes" if True in values else "no"
    return " or ".join(sorted(str(value) for value in values))
