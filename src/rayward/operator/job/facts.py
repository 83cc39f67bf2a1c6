"""What the state machine looks at: every circumstance of a RayJob, reduced to a few values each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rayward.kinds.rayjob import DeploymentStatus as Phase


class Intent(StrEnum):
    """What the user's spec asks for now."""

    RUN = "run"
    SUSPEND = "suspend"
    INVALID = "invalid"


class Cluster(StrEnum):
    """The RayCluster of the attempt."""

    ABSENT = "absent"
    DELETING = "deleting"
    STARTING = "starting"
    READY = "ready"


class Submitter(StrEnum):
    """The submitter's Job or container, and what its log says of the job once it ended."""

    NONE = "none"
    ACTIVE = "active"
    UNREAD = "ended, log not read"
    ENDED = "ended"
    FAILED = "failed"
    SAID_SUCCEEDED = "said succeeded"
    SAID_FAILED = "said failed"
    SAID_STOPPED = "said stopped"


class Ray(StrEnum):
    """What the head says of the job.

    NO_ANSWER becomes SILENT when the status check times out. UNKNOWN is said by the session that the job is submitted
    to, before it was ever seen there; LOST by another session, or by the same one after it was seen: then it may have
    run, and nobody can tell how it ended.
    """

    NO_ANSWER = "no answer"
    SILENT = "silent"
    UNKNOWN = "unknown"
    LOST = "lost"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


class Deadline(StrEnum):
    """The deadline that has passed: the whole attempt's counts before that of its start."""

    NONE = "none"
    START = "preRunningDeadlineSeconds"
    ACTIVE = "activeDeadlineSeconds"


class Hand(StrEnum):
    """Who hands the job to Ray."""

    OPERATOR = "HTTPMode"
    JOB = "K8sJobMode"
    SIDECAR = "SidecarMode"
    USER = "InteractiveMode"


KNOWN: Final = frozenset((Ray.PENDING, Ray.RUNNING, Ray.SUCCEEDED, Ray.FAILED, Ray.STOPPED))
"""Ray has the job."""
SPOKEN: Final = frozenset((Submitter.SAID_SUCCEEDED, Submitter.SAID_FAILED, Submitter.SAID_STOPPED))
"""Ray told the submitter how the job ended."""
GONE: Final = frozenset((Cluster.ABSENT, Cluster.DELETING))


@dataclass(frozen=True, slots=True)
class Facts:
    """One cell of the table."""

    phase: Phase = Phase.NEW
    intent: Intent = Intent.RUN
    cluster: Cluster = Cluster.ABSENT
    submitter: Submitter = Submitter.NONE
    ray: Ray = Ray.NO_ANSWER
    deadline: Deadline = Deadline.NONE
    hand: Hand = Hand.OPERATOR
    selected: bool = False
    """Whether the cluster is somebody else's, named by clusterSelector."""
    armed: bool = False
    """Whether the session that gets the job is on record."""
    unstopped: bool = False
    """Whether the attempt was suspended while its head was silent, so that its job may run still."""
    patient: bool = True
    """Whether what a phase waits for may still come: a stop that Ray was asked for, a log, a submitter's last words."""
