"""What is wrong with a cluster's pods, in the words a user needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from rayward.kinds import rayversion
from rayward.kube.core.pod import ContainerStatus
from rayward.operator.cluster.plan import LogWanted
from rayward.operator.cluster.pod import RayPod

CRASH_LOOP: Final = "CrashLoopBackOff"
IMAGE: Final = "ImagePullBackOff"
UNSCHEDULABLE: Final = "Unschedulable"
VERSION: Final = "RayVersionMismatch"

_IMAGE_REASONS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})
_ORDINARY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_LONGEST: Final = 700
_RAY_IMAGES: Final = frozenset({"ray", "ray-ml", "ray-llm"})

Logs = Mapping[tuple[str, str], tuple[int, str]]


class Ailment(msgspec.Struct, frozen=True):
    """One thing that keeps a pod from working; a pod has at most one."""

    reason: str
    pod: str
    message: str

    @property
    def text(self) -> str:
        """As a condition says it."""
        return f"pod {self.pod}: {self.message}"


class _Trouble(msgspec.Struct, frozen=True):
    """An ailment as its pod tells it."""

    pod: RayPod
    reason: str
    message: str
    container: ContainerStatus | None = None


def ailments(pods: Iterable[RayPod], logs: Logs) -> list[Ailment]:
    """Of all pods that should work, the head's first."""
    return [Ailment(each.reason, each.pod.metadata.name, _told(each, logs)) for each in _troubles(pods)]


def logs_wanted(pods: Iterable[RayPod], logs: Logs) -> tuple[LogWanted, ...]:
    """The container whose last words are not known yet; only the first ailment is shown with its own."""
    first = next(iter(_troubles(pods)), None)
    if first is None or first.container is None or first.reason != CRASH_LOOP:
        return ()
    metadata, status = first.pod.metadata, first.container
    known = logs.get((metadata.uid, status.name))
    if known is not None and known[0] == status.restart_count:
        return ()
    return (LogWanted(metadata.name, metadata.uid, status.name, status.restart_count),)


def other_version(pods: Iterable[RayPod], version: str) -> str:
    """Which pods run another Ray than the spec says, by the tag of their image; empty if none is known to."""
    asked = rayversion.parse(version)
    if asked is None:
        return ""
    others = sorted(
        f"{pod.metadata.name} runs {pod.image}"
        for pod in pods
        if not pod.deleting and _ray_in(pod.image) not in (None, asked)
    )
    return f"spec.rayVersion is {version}, but {_listed(others)}" if others else ""


def _ray_in(image: str) -> rayversion.Version | None:
    """The Ray that an image of the Ray project has; what the tags of others count is theirs to know."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return rayversion.parse(tag) if name in _RAY_IMAGES else None


def _troubles(pods: Iterable[RayPod]) -> list[_Trouble]:
    found = [trouble for pod in pods if not pod.deleting and (trouble := _trouble(pod)) is not None]
    return sorted(found, key=lambda trouble: (not trouble.pod.is_head, trouble.pod.metadata.name))


def _trouble(pod: RayPod) -> _Trouble | None:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == UNSCHEDULABLE:
            return _Trouble(pod, UNSCHEDULABLE, condition.message or "no node fits it")
    for status in _containers(pod):
        reason, message = _waiting(status)
        if reason not in _ORDINARY:
            return _Trouble(pod, IMAGE if reason in _IMAGE_REASONS else reason, message or reason, status)
    return None


def _told(trouble: _Trouble, logs: Logs) -> str:
    status = trouble.container
    if status is None:
        return trouble.message
    if trouble.reason == CRASH_LOOP:
        return _crash(status, logs.get((trouble.pod.metadata.uid, status.name)))
    return f"container {status.name}: {trouble.message}"


def _crash(status: ContainerStatus, log: tuple[int, str] | None) -> str:
    text = f"container {status.name} ended {status.restart_count} times"
    last = status.last_state.terminated if status.last_state else None
    if last is not None:
        text += f", last with exit code {last.exit_code}" + (f" ({last.reason})" if last.reason else "")
    if log is not None and log[1]:
        text += f"; its last words:\n{log[1][-_LONGEST:]}"
    return text


def _containers(pod: RayPod) -> tuple[ContainerStatus, ...]:
    return (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))


def _waiting(status: ContainerStatus) -> tuple[str, str]:
    waiting = status.state.waiting if status.state else None
    return (waiting.reason, waiting.message) if waiting is not None else ("", "")


def _listed(items: list[str], shown: int = 3) -> str:
    rest = len(items) - shown
    return ", ".join(items[:shown]) + (f" and {rest} more" if rest > 0 else "")
