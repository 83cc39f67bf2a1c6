"""What an edit of a RayJob does: a submitted job is a unit of execution, so most edits wait for the next attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.effects.change import Change, Effect, Rules
from rayward.kinds.effects.differences import Difference
from rayward.kinds.managedby import is_managed_here
from rayward.kube.machinery.jsonvalue import Object, section

Answer = tuple[Effect, str]


class Phase(StrEnum):
    """Where a job stands, as far as edits care."""

    NEW = "new"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    ENDED = "ended"
    INVALID = "invalid"


class Kind(StrEnum):
    """When the operator reads a field."""

    ATTEMPT = "attempt"
    """When an attempt is made: its cluster and its submission follow from it."""
    WHILE_RUNNING = "while running"
    """In every reconcile until the job has ended."""
    WHILE_STARTING = "while starting"
    CLEANUP = "cleanup"
    """In every reconcile, after the end too."""
    SUSPEND = "suspend"
    OWNER = "owner"


FIELDS: Final[dict[str, Kind]] = {
    "activeDeadlineSeconds": Kind.WHILE_RUNNING,
    "backoffLimit": Kind.WHILE_RUNNING,
    "clusterSelector": Kind.ATTEMPT,
    "deletionStrategy": Kind.CLEANUP,
    "entrypoint": Kind.ATTEMPT,
    "entrypointNumCpus": Kind.ATTEMPT,
    "entrypointNumGpus": Kind.ATTEMPT,
    "entrypointResources": Kind.ATTEMPT,
    "jobId": Kind.ATTEMPT,
    "managedBy": Kind.OWNER,
    "metadata": Kind.ATTEMPT,
    "preRunningDeadlineSeconds": Kind.WHILE_STARTING,
    "rayClusterSpec": Kind.ATTEMPT,
    "runtimeEnvYAML": Kind.ATTEMPT,
    "shutdownAfterJobFinishes": Kind.CLEANUP,
    "submissionMode": Kind.ATTEMPT,
    "submitterConfig": Kind.ATTEMPT,
    "submitterPodTemplate": Kind.ATTEMPT,
    "suspend": Kind.SUSPEND,
    "ttlSecondsAfterFinished": Kind.CLEANUP,
}
"""Every field of a RayJob's spec."""

_PHASES: Final = {
    "": Phase.NEW,
    "Suspending": Phase.SUSPENDED,
    "Suspended": Phase.SUSPENDED,
    "Complete": Phase.ENDED,
    "Failed": Phase.ENDED,
    "ValidationFailed": Phase.INVALID,
}
_READ_WHILE_RUNNING: Final = (labels.RETRY_UNKNOWN, labels.STATUS_CHECK_TIMEOUT)
_STARTING: Final = ("", "Initializing", "Waiting", "Retrying")


def phase_of(job: Object) -> Phase:
    """Where a job stands, from its status."""
    status: str = section(job, "status").get("jobDeploymentStatus") or ""
    return _PHASES.get(status, Phase.ACTIVE)


def job_changes(old: Object, new: Object, rules: Rules, found: Iterable[Difference]) -> Iterator[Change]:
    """The effect of each difference; paths of differences start at the object's root."""
    for difference in found:
        root, *rest = difference.segments
        if root == "spec" and rest:
            effect, why = _spec(old, new, rules, difference, rest[0])
            yield Change(difference.path, effect, why, difference.old, difference.new)
        elif root == "metadata" and len(rest) > 1:
            effect, why = _metadata(old, rules, *rest[:2])
            yield Change(difference.path, effect, why, difference.old, difference.new)


def _metadata(old: Object, rules: Rules, part: str, name: str) -> Answer:
    phase = phase_of(old)
    if name in _READ_WHILE_RUNNING and rules is Rules.RAYWARD and phase is not Phase.ENDED:
        return Effect.IN_PLACE, "the operator reads it when it acts"
    if phase is Phase.ENDED:
        return Effect.IGNORED, "the job has ended: rerun it under a new name"
    return Effect.NEXT_CLUSTER, f"{part} are copied to clusters when they are made"


def _spec(old: Object, new: Object, rules: Rules, difference: Difference, field: str) -> Answer:
    kind = FIELDS.get(field)
    spec = section(new, "spec")
    if kind is None:
        return Effect.IGNORED, "no definition of this kind has the field"
    if kind is Kind.OWNER and difference.old and difference.new:
        return Effect.REFUSED, "managedBy cannot be changed once set: recreate the object"
    if not is_managed_here(spec.get("managedBy")):
        return Effect.IGNORED, f"managedBy is {spec['managedBy']}: {rules.operator} leaves the object alone"
    phase = phase_of(old)
    if phase is Phase.INVALID and rules is not Rules.RAYWARD:
        return Effect.IGNORED, f"{rules.operator} never looks again at a job that failed validation: recreate it"
    if kind is Kind.SUSPEND:
        return _suspension(old, spec, rules, phase)
    if phase is Phase.ENDED and kind is not Kind.CLEANUP:
        return Effect.IGNORED, "the job has ended: rerun it under a new name"
    if kind is Kind.OWNER:
        return Effect.IGNORED, "the same operator acts on the object as before"
    if kind is Kind.ATTEMPT:
        return _attempt(old, difference, phase)
    if kind is Kind.WHILE_STARTING and phase is Phase.ACTIVE and _status(old) not in _STARTING:
        return Effect.IGNORED, "the job runs already"
    return Effect.IN_PLACE, "the operator reads it when it acts"


def _attempt(old: Object, difference: Difference, phase: Phase) -> Answer:
    waits = _status(old) == "Waiting" and difference.segments[1] == "jobId"
    if waits and section(old, "spec").get("submissionMode") == "InteractiveMode":
        return Effect.IN_PLACE, "the job that waits is this one now"
    if phase in (Phase.NEW, Phase.INVALID):
        return Effect.NEXT_CLUSTER, "the first attempt has it"
    if phase is Phase.SUSPENDED:
        return Effect.NEXT_CLUSTER, "the attempt of the resume has it"
    return (
        Effect.NEXT_CLUSTER,
        "the attempt that runs is not changed; only another attempt has it: suspend, edit and resume to apply it now",
    )


def _suspension(old: Object, spec: Object, rules: Rules, phase: Phase) -> Answer:
    before, after = bool(section(old, "spec").get("suspend")), bool(spec.get("suspend"))
    if before == after:
        return Effect.IGNORED, "false means the same as unset"
    if phase is Phase.ENDED:
        return Effect.IGNORED, "the job has ended"
    if not after:
        return Effect.RESUME, "a new attempt is made from the spec"
    if rules is not Rules.RAYWARD and not _suspendable(spec):
        why = "suspend needs shutdownAfterJobFinishes: true and no clusterSelector"
        return Effect.REFUSED, f"{rules.operator} marks the job ValidationFailed: {why}"
    return Effect.SUSPEND, "the job is stopped and its cluster deleted"


def _suspendable(spec: Object) -> bool:
    return bool(spec.get("shutdownAfterJobFinishes")) and not spec.get("clusterSelector")


def _status(job: Object) -> Any:
    return section(job, "status").get("jobDeploymentStatus") or ""
