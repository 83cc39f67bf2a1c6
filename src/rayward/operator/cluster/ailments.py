"""What is wrong with a cluster's pods, in the words a user needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

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
_TAG: Final = re.compile(r":(\d+\.\d+\.\d+)[^/]*$")

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


def ailments(pods: Iterable[RayPod], logs: Logs) -> list[Ailment]:
    """Of all pods that should work, the head's first."""
    ordered = sorted((pod for pod in pods if not pod.deleting), key=lambda pod: (not pod.is_head, pod.metadata.name))
    return [found for pod in ordered if (found := _ailment(pod, logs)) is not None]


def logs_wanted(pods: Iterable[RayPod], logs: Logs) -> tuple[LogWanted, ...]:
    """The containers whose last words are not known yet."""
    wanted: list[LogWanted] = []
    for pod in pods:
        for status in _containers(pod):
            if _waiting(status)[0] != CRASH_LOOP:
                continue
            known = logs.get((pod.metadata.uid, status.name))
            if known is None or known[0] != status.restart_count:
                wanted.append(LogWanted(pod.metadata.name, pod.metadata.uid, status.name, status.restart_count))
    return tuple(wanted)


def other_version(pods: Iterable[RayPod], version: str) -> str:
    """Which pods run another Ray than the spec says, by the tag of their image; empty if none is known to."""
    if not version:
        return ""
    others = sorted(
        f"{pod.metadata.name} runs {pod.image}"
        for pod in pods
        if not pod.deleting and (tag := _TAG.search(pod.image)) is not None and tag.group(1) != version
    )
    return f"spec.rayVersion is {version}, but {_listed(others)}" if others else ""


def _ailment(pod: RayPod, logs: Logs) -> Ailment | None:
    name = pod.metadata.name
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == UNSCHEDULABLE:
            return Ailment(UNSCHEDULABLE, name, condition.message or "no node fits it")
    for status in _containers(pod):
        reason, message = _waiting(status)
        if reason in _ORDINARY:
            continue
        if reason in _IMAGE_REASONS:
            return Ailment(IMAGE, name, f"container {status.name}: {message or reason}")
        if reason == CRASH_LOOP:
            return Ailment(CRASH_LOOP, name, _crash(status, logs.get((pod.metadata.uid, status.name))))
        return Ailment(reason, name, f"container {status.name}: {message or reason}")
    return None


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
