"""What came of the writes: events in KubeRay's words, and the failure that the status tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from rayward.kinds.raycluster import RayCluster
from rayward.kube.client.errors import ApiError
from rayward.kube.core.resource import PODS, SECRETS
from rayward.net.errors import NetworkError
from rayward.operator.cluster.plan import Finalizers, Make, Mend, NewPod, NewSecret, Note, Remove, Write
from rayward.operator.cluster.status import Failure

_SHOWN: Final = 20
_KINDS: Final = {"PersistentVolumeClaim": "PVC", "Job": "RedisCleanupJob"}


class Outcome(msgspec.Struct, frozen=True):
    """One write and how it ended."""

    write: Write
    name: str
    error: ApiError | NetworkError | None = None
    changed: bool = True
    """Whether anything is other than before: not if it was so already."""


def notes(cluster: RayCluster, outcomes: Sequence[Outcome]) -> list[Note]:
    """The events of one run: pods of one kind in one event."""
    done = [outcome for outcome in outcomes if outcome.error is None and outcome.changed]
    namespace = cluster.metadata.namespace
    found = _pod_notes(namespace, done)
    for outcome in done:
        write = outcome.write
        if isinstance(write, Make | NewSecret | Mend | Remove) and _kind(write) != "Pod":
            # The service of a new head is told together with it: a plain cluster costs few events.
            if _kind(write) == "Service" and isinstance(write, Make) and _makes_head(done):
                continue
            verb = f"{_deed(write)}d"
            found.append(Note("Normal", f"{verb}{_kind(write)}", f"{verb} {_kind(write)} {namespace}/{outcome.name}"))
    found += [_failure_note(namespace, outcome) for outcome in outcomes if outcome.error is not None]
    return found


def failure(outcomes: Iterable[Outcome]) -> Failure | None:
    """The first failure, the head's before others."""
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if not failed:
        return None
    first = min(failed, key=lambda outcome: not _about_head(outcome.write))
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return Failure(f"Failed{_deed(first.write)}{_subject(first.write)}", f"{first.name}: {first.error}{more}")


def _pod_notes(namespace: str, done: Sequence[Outcome]) -> list[Note]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for outcome in done:
        write = outcome.write
        if isinstance(write, NewPod):
            groups.setdefault(("Created", _subject(write), ""), []).append(outcome.name)
        elif isinstance(write, Remove) and write.pod is not None:
            groups.setdefault(("Deleted", _subject(write), write.why), []).append(outcome.name)
    found: list[Note] = []
    for (verb, subject, why), names in groups.items():
        role = "head" if subject == "HeadPod" else "worker"
        plural = "s" if len(names) > 1 else ""
        shown = ", ".join(f"{namespace}/{name}" for name in sorted(names)[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        because = f"; {why}" if why else ""
        found.append(Note("Normal", f"{verb}{subject}", f"{verb} {role} Pod{plural} {shown}{more}{because}"))
    return found


def _failure_note(namespace: str, outcome: Outcome) -> Note:
    deed, subject = _deed(outcome.write), _subject(outcome.write)
    reason = f"FailedTo{deed}{subject}"
    return Note("Warning", reason, f"Failed to {deed.lower()} {subject} {namespace}/{outcome.name}: {outcome.error}")


def _makes_head(done: Iterable[Outcome]) -> bool:
    return any(isinstance(outcome.write, NewPod) and outcome.write.group is None for outcome in done)


def _about_head(write: Write) -> bool:
    return _subject(write) == "HeadPod"


def _deed(write: Write) -> str:
    if isinstance(write, Make | NewSecret | NewPod):
        return "Create"
    return "Delete" if isinstance(write, Remove) else "Update"


def _subject(write: Write) -> str:
    if isinstance(write, NewPod):
        return "HeadPod" if write.group is None else "WorkerPod"
    if isinstance(write, Remove) and write.pod is not None:
        return "HeadPod" if write.pod.is_head else "WorkerPod"
    return _kind(write)


def _kind(write: Write) -> str:
    if isinstance(write, Finalizers):
        return "RayCluster"
    resource = SECRETS if isinstance(write, NewSecret) else PODS if isinstance(write, NewPod) else write.resource
    return _KINDS.get(resource.kind, resource.kind)
