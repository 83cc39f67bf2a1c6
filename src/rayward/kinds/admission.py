"""What the quota gate lets a RayCluster run, and whom the gate is for.

The gate writes a ``Grant`` on the RayCluster, as JSON under ``rayward.dev/admitted``; the operator makes no pod beyond
it and reports it as condition ``QuotaReserved``. Whatever cannot be read, or was written for another RayCluster, grants
nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition, KubeObject, ObjectMeta

QUOTA_RESERVED: Final = "QuotaReserved"
"""The condition of a Ray object: whether its pods may run, and why not."""
NO_GATE: Final = "WaitingForGate"
UNREADABLE: Final = "GrantUnreadable"
BY_KUEUE: Final = "ManagedByKueue"
"""The reason where an object that asks for our gate is left to Kueue's own integration."""
NEVER_FITS: Final = "ExceedsMaxQuota"
"""The reason where waiting is of no use: the queue never has as much as is asked for."""


class Admission(StrEnum):
    """Who admits Workloads; a setting of the process, never found out by looking."""

    NONE = "none"
    """Nobody: Ray objects with ``rayward.dev/queue-name`` wait and say so."""
    EMBEDDED = "embedded"
    KUEUE = "kueue"


@dataclass(frozen=True, slots=True)
class Queueing:
    """Which Ray objects are under the gate."""

    admission: Admission = Admission.NONE
    default_queue: str = ""
    """The LocalQueue of objects that name none; empty leaves those alone."""
    kueue_takes_unlabelled: bool = False
    """Whether Kueue manages objects without its label, too (``manageJobsWithoutQueueName`` of its configuration)."""

    def queue_of(self, metadata: ObjectMeta) -> str:
        """The LocalQueue that an object waits in; empty where the gate has no business with it.

        An object that carries Kueue's own label is Kueue's wherever Kueue admits.
        """
        ours, kueues = metadata.label(labels.QUEUE_NAME), metadata.label(names.QUEUE_NAME)
        if self.admission is Admission.KUEUE:
            return "" if kueues or self.kueue_takes_unlabelled else ours
        if self.admission is Admission.EMBEDDED:
            return ours or kueues or self.default_queue
        return ours

    def is_kueues(self, metadata: ObjectMeta) -> bool:
        """Whether Kueue's own integration starts and stops an object, by its suspend field."""
        if self.admission is Admission.EMBEDDED:
            return False
        return bool(metadata.label(names.QUEUE_NAME)) or self.kueue_takes_unlabelled

    @property
    def pod_annotations(self) -> dict[str, str]:
        """What pods under the gate carry so that whoever admits does not count them a second time.

        Beside a LocalQueue named ``default`` Kueue's ``pod`` integration puts every other new pod in that queue.
        """
        return {names.POD_SUSPENDING_PARENT: labels.QUOTA_GATE} if self.admission is Admission.KUEUE else {}

    def left_to_kueue(self, metadata: ObjectMeta) -> str:
        """Why our label on an object means nothing; empty where it does, or where there is none."""
        if self.admission is not Admission.KUEUE or not metadata.label(labels.QUEUE_NAME):
            return ""
        if metadata.label(names.QUEUE_NAME):
            return (
                f"Label {names.QUEUE_NAME} leaves this object to Kueue; label {labels.QUEUE_NAME} is ignored "
                "(a LocalQueue named default makes Kueue label every new object)"
            )
        if self.kueue_takes_unlabelled:
            return (
                f"Kueue manages every object here (manageJobsWithoutQueueName); label {labels.QUEUE_NAME} is ignored: "
                f"use {names.QUEUE_NAME}"
            )
        return ""


NO_QUEUES: Final = Queueing()


class GroupGrant(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What one group may run."""

    pods: int = 0
    """How many pods of ``shape`` may exist, terminating ones included."""
    shape: str = ""
    """The digest of the shape that was admitted; pods of another one are not made."""
    held: int = 0
    """How many pods of earlier shapes may stay; none of them is replaced."""
    node_selector: dict[str, str] | None = None
    tolerations: tuple[dict[str, Any], ...] | None = None


class Grant(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a RayCluster may run, and what to report about it."""

    uid: str = ""
    """Of the RayCluster: a copy of the annotation on another one grants nothing."""
    workload: str = ""
    """The Workload it was admitted by, the first of its slices; pods are marked with it."""
    groups: dict[str, GroupGrant] = msgspec.field(default_factory=dict[str, GroupGrant])
    """By group; the head's is ``headgroup``."""
    reason: str = ""
    message: str = ""
    revision: int = 0
    """Counts up with each change of what may run; the condition repeats it, so that the gate knows what was seen."""
    checksum: str = ""
    """Of what may run: tells an edit by somebody else from an earlier decision of the gate."""

    @property
    def is_closed(self) -> bool:
        """Whether no pod may run."""
        return not any(group.pods or group.held for group in self.groups.values())

    def of(self, group: str) -> GroupGrant:
        """What one group may run."""
        return self.groups.get(group, _NOTHING)


_NOTHING: Final = GroupGrant()
_LONGEST: Final = 1024
_encoder: Final = msgspec.json.Encoder(order="deterministic")


def read_grant(cluster: KubeObject) -> Grant | None:
    """The grant of a RayCluster; None where no gate has written one yet."""
    text = cluster.metadata.annotation(labels.ADMITTED)
    if not text:
        return None
    uid = cluster.metadata.uid
    try:
        grant = msgspec.json.decode(text, type=Grant)
    except msgspec.DecodeError as error:
        message = f"Annotation {labels.ADMITTED} cannot be read: {error}"
        return Grant(uid=uid, reason=UNREADABLE, message=message[:_LONGEST])
    if grant.uid != uid:
        return Grant(uid=uid, reason=UNREADABLE, message=f"Annotation {labels.ADMITTED} is of another RayCluster")
    return grant


def checksum_of(grant: Grant) -> str:
    """The checksum that a gate gives a grant."""
    permits = _encoder.encode([grant.uid, grant.workload, grant.groups])
    return hashlib.sha256(permits).hexdigest()[:12]


def written(grant: Grant) -> str:
    return _encoder.encode(grant).decode()


def reported(grant: Grant | None) -> Condition:
    """The condition that an operator reports once it acts by ``grant``; the gate takes it for the answer."""
    if grant is None:
        message = "No quota gate has answered yet: start the operator with --admission=embedded or --admission=kueue"
        return Condition(type=QUOTA_RESERVED, status="False", reason=NO_GATE, message=message)
    status = "False" if grant.is_closed else "True"
    message = f"{grant.message}{_ending(grant)}"
    return Condition(type=QUOTA_RESERVED, status=status, reason=grant.reason or QUOTA_RESERVED, message=message)


def is_acknowledged(grant: Grant | None, conditions: Iterable[Condition] | None) -> bool:
    """Whether the operator has reported that it acts by this very grant: it makes no pod by an earlier one any more."""
    found = condition_of(conditions, QUOTA_RESERVED)
    return grant is not None and found is not None and found.message.endswith(_ending(grant))


def _ending(grant: Grant) -> str:
    return f" (grant {grant.revision})"
