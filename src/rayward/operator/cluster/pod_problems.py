"""Why pods of a cluster do not run, in words for conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rayward.kinds import rayversion
from rayward.kube.core.pod import ContainerStatus
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import LogRequest, Logs

CRASH_LOOP: Final = "CrashLoopBackOff"
IMAGE: Final = "ImagePullBackOff"
UNSCHEDULABLE: Final = "Unschedulable"
VERSION: Final = "RayVersionMismatch"

_IMAGE_REASONS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})
_ORDINARY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_MAX_LOG: Final = 700
# The scheduler's second half, of pods that could be ended for this one: of no use to whoever waits for a cluster.
_PREEMPTION: Final = re.compile(r" preemption: [^.]*\.")
_RAY_IMAGES: Final = frozenset({"ray", "ray-ml", "ray-llm"})


@dataclass(frozen=True, slots=True)
class PodProblem:
    """What keeps a pod from running; a pod has at most one."""

    reason: str
    pod: str
    message: str

    @property
    def text(self) -> str:
        """As a condition says it."""
        return f"pod {self.pod}: {self.message}"


@dataclass(frozen=True, slots=True)
class _Finding:
    """A problem as its pod's status has it."""

    pod: RayPod
    reason: str
    message: str
    container: ContainerStatus | None = None


def pod_problems(pods: Iterable[RayPod], logs: Logs) -> list[PodProblem]:
    """Of all pods that are not being deleted, the head's first."""
    return [PodProblem(each.reason, each.pod.metadata.name, _message(each, logs)) for each in _findings(pods)]


def log_requests(pods: Iterable[RayPod], logs: Logs) -> tuple[LogRequest, ...]:
    """The container whose log is not known yet; only the first problem is shown with its log."""
    first = next(iter(_findings(pods)), None)
    if first is None or first.container is None or first.reason != CRASH_LOOP:
        return ()
    metadata, status = first.pod.metadata, first.container
    known = logs.get((metadata.uid, status.name))
    if known is not None and known[0] == status.restart_count:
        return ()
    return (LogRequest(metadata.name, metadata.uid, status.name, status.restart_count),)


def version_mismatch(pods: Iterable[RayPod], version: str) -> str:
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


def _findings(pods: Iterable[RayPod]) -> list[_Finding]:
    found = [finding for pod in pods if not pod.deleting and (finding := _finding(pod)) is not None]
    return sorted(found, key=lambda finding: (not finding.pod.is_head, finding.pod.metadata.name))


def _finding(pod: RayPod) -> _Finding | None:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == UNSCHEDULABLE:
            message = _PREEMPTION.sub("", condition.message or "no node can run the pod")
            return _Finding(pod, UNSCHEDULABLE, message)
    for status in _containers(pod):
        reason, message = _waiting(status)
        if reason not in _ORDINARY:
            return _Finding(pod, IMAGE if reason in _IMAGE_REASONS else reason, message or reason, status)
    return None


def _message(finding: _Finding, logs: Logs) -> str:
    status = finding.container
    if status is None:
        return finding.message
    if finding.reason == CRASH_LOOP:
        return _crash(status, logs.get((finding.pod.metadata.uid, status.name)))
    return f"container {status.name}: {finding.message}"


def _crash(status: ContainerStatus, log: tuple[int, str] | None) -> str:
    """The last line of its log first: programs say there why they end."""
    count = status.restart_count
    text = f"restarted {count} time{'' if count == 1 else 's'}"
    last = status.last_state.terminated if status.last_state else None
    if last is not None:
        text += f", last exit code {last.exit_code}" + (f" ({last.reason})" if last.reason else "")
    lines = log[1][-_MAX_LOG:].strip().splitlines() if log is not None else []
    if not lines:
        return f"container {status.name} {text}"
    return "\n".join((f"container {status.name}: {lines[-1].strip()} ({text})", *(lines if len(lines) > 1 else ())))


def _containers(pod: RayPod) -> tuple[ContainerStatus, ...]:
    return (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))


def _waiting(status: ContainerStatus) -> tuple[str, str]:
    waiting = status.state.waiting if status.state else None
    return (waiting.reason, waiting.message) if waiting is not None else ("", "")


def _listed(items: list[str], shown: int = 3) -> str:
    rest = len(items) - shown
    return ", ".join(items[:shown]) + (f" and {rest} more" if rest > 0 else "")
