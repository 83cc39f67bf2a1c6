"""Events about the outcome of writes, in KubeRay's words, and the failure that the status shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rayward.kinds.raycluster import RayCluster
from rayward.kube.client.errors import ApiError
from rayward.kube.core.resource import PODS, SECRETS
from rayward.net.errors import NetworkError
from rayward.operator.cluster.state import (
    Create,
    CreatePod,
    CreateSecret,
    Delete,
    Event,
    Failure,
    Patch,
    SetFinalizers,
    Write,
)

_MAX_SHOWN: Final = 20
_KINDS: Final = {"PersistentVolumeClaim": "PVC", "Job": "RedisCleanupJob"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One write and how it ended."""

    write: Write
    name: str
    error: ApiError | NetworkError | None = None
    changed: bool = True
    """False where the server had it already."""


def events(cluster: RayCluster, outcomes: Sequence[Outcome]) -> list[Event]:
    """The events of one reconcile: pods of one role in one event."""
    done = [outcome for outcome in outcomes if outcome.error is None and outcome.changed]
    namespace = cluster.metadata.namespace
    found = _pod_events(namespace, done)
    for outcome in done:
        write = outcome.write
        if isinstance(write, Create | CreateSecret | Patch | Delete) and _kind(write) != "Pod":
            # The service of a new head gets no event of its own: a plain cluster costs few events.
            if _kind(write) == "Service" and isinstance(write, Create) and _creates_head(done):
                continue
            verb = f"{_verb(write)}d"
            found.append(Event("Normal", f"{verb}{_kind(write)}", f"{verb} {_kind(write)} {namespace}/{outcome.name}"))
    found += [_failure_event(namespace, outcome) for outcome in outcomes if outcome.error is not None]
    return found


def failure(outcomes: Iterable[Outcome]) -> Failure | None:
    """The first failure, the head's before others."""
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if not failed:
        return None
    first = min(failed, key=lambda outcome: not _about_head(outcome.write))
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    about, said = first.name, str(first.error)
    if isinstance(first.write, CreatePod):
        # The server repeats the name of a pod that nobody will ever see: the cause comes first.
        about, said = f"pod {first.name}", said.removeprefix(f'pods "{first.name}" is ')
    return Failure(f"Failed{_verb(first.write)}{_subject(first.write)}", f"{about}: {said}{more}")


def _pod_events(namespace: str, done: Sequence[Outcome]) -> list[Event]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for outcome in done:
        write = outcome.write
        if isinstance(write, CreatePod):
            groups.setdefault(("Created", _subject(write), ""), []).append(outcome.name)
        elif isinstance(write, Delete) and write.pod is not None:
            groups.setdefault(("Deleted", _subject(write), write.reason), []).append(outcome.name)
    found: list[Event] = []
    for (verb, subject, reason), names in groups.items():
        role = "head" if subject == "HeadPod" else "worker"
        plural = "s" if len(names) > 1 else ""
        shown = ", ".join(f"{namespace}/{name}" for name in sorted(names)[:_MAX_SHOWN])
        more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
        cause = f"; {reason}" if reason else ""
        found.append(Event("Normal", f"{verb}{subject}", f"{verb} {role} Pod{plural} {shown}{more}{cause}"))
    return found


def _failure_event(namespace: str, outcome: Outcome) -> Event:
    verb, subject = _verb(outcome.write), _subject(outcome.write)
    reason = f"FailedTo{verb}{subject}"
    return Event("Warning", reason, f"Failed to {verb.lower()} {subject} {namespace}/{outcome.name}: {outcome.error}")


def _creates_head(done: Iterable[Outcome]) -> bool:
    return any(isinstance(outcome.write, CreatePod) and outcome.write.group is None for outcome in done)


def _about_head(write: Write) -> bool:
    return _subject(write) == "HeadPod"


def _verb(write: Write) -> str:
    if isinstance(write, Create | CreateSecret | CreatePod):
        return "Create"
    return "Delete" if isinstance(write, Delete) else "Update"


def _subject(write: Write) -> str:
    if isinstance(write, CreatePod):
        return "HeadPod" if write.group is None else "WorkerPod"
    if isinstance(write, Delete) and write.pod is not None:
        return "HeadPod" if write.pod.is_head else "WorkerPod"
    return _kind(write)


def _kind(write: Write) -> str:
    if isinstance(write, SetFinalizers):
        return "RayCluster"
    resource = SECRETS if isinstance(write, CreateSecret) else PODS if isinstance(write, CreatePod) else write.resource
    return _KINDS.get(resource.kind, resource.kind)
