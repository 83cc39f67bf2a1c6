"""Why pods of a cluster do not run, in words for conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rayward.kinds import rayversion
from rayward.kube.core.meta import parse_time
from rayward.kube.core.pod import ContainerStatus
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import LogRequest, Logs, PodWarning, WarningRequest, Warnings

CRASH_LOOP: Final = "CrashLoopBackOff"
IMAGE: Final = "ImagePullBackOff"
UNSCHEDULABLE: Final = "Unschedulable"
VERSION: Final = "RayVersionMismatch"

_IMAGE_REASONS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})
_ORDINARY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_MAX_LOG: Final = 700
_UNTOLD: Final = timedelta(seconds=4)
"""Most containers are created sooner, and nobody has to be asked why they are not."""
_ASKED_EVERY: Final = (5, 10, 20, 40)
_ASKED_AT_LAST: Final = 60
# The scheduler's second half, of pods that could be ended for this one: of no use to whoever waits for a cluster.
_PREEMPTION: Final = re.compile(r" preemption: [^.]*\.")
_NO_WARNINGS: Final[Warnings] = {}
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


def pod_problems(pods: Iterable[RayPod], logs: Logs, warnings: Warnings = _NO_WARNINGS) -> list[PodProblem]:
    """Of all pods that are not being deleted, the head's first."""
    found = [PodProblem(each.reason, each.pod.metadata.name, _message(each, logs)) for each in _findings(pods)]
    return found or [
        PodProblem(warning.reason, pod.metadata.name, warning.message)
        for pod in _unstarted(pods)
        if (warning := warnings.get(pod.metadata.uid)) is not None and warning.reason
    ]


def warning_request(
    pods: Iterable[RayPod], warnings: Warnings, now: datetime
) -> tuple[WarningRequest | None, float | None]:
    """A pod whose containers are not created, to ask for its events now, or in how many seconds to do so.

    Of several each has its turn: a pod that is slow hides none that fails.

    An event wakes nobody here: all events of a cluster would have to be watched for the few that say why a pod waits.
    """
    pods = list(pods)

    def due_at(pod: RayPod) -> datetime:
        known = warnings.get(pod.metadata.uid)
        return parse_time(pod.status.start_time or "") + _UNTOLD if known is None else known.at + _pause(known)

    pod = min(_unstarted(pods), key=due_at, default=None)
    if pod is None or _findings(pods):
        return None, None
    known, due = warnings.get(pod.metadata.uid), due_at(pod)
    if due > now:
        return None, (due - now).total_seconds()
    return WarningRequest(pod.metadata.name, pod.metadata.uid, known.asked if known else 0), None


def warning_of(events: Iterable[Object], asked: int, at: datetime) -> PodWarning:
    """A pod's latest event, where it is a warning: one that something else followed has passed.

    The scheduler's are of the time before the pod had a node.
    """
    none: Object = {}
    last = max(events, key=_told_at, default=none)
    if last.get("type") != "Warning" or last.get("reason") == "FailedScheduling":
        last = none
    return PodWarning(str(last.get("reason") or ""), str(last.get("message") or ""), asked, at)


def _told_at(event: Object) -> str:
    times = (section(event, "series").get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return max(str(each or "") for each in times)


def _unstarted(pods: Iterable[RayPod]) -> Iterator[RayPod]:
    """Pods that have a node and no container yet, and whose statuses say nothing of it; the head first."""
    found = (pod for pod in pods if not pod.deleting and pod.status.phase == "Pending" and pod.status.start_time)
    for pod in sorted(found, key=_order):
        if all(_waiting(status)[0] in _ORDINARY and not _has_run(status) for status in _containers(pod)):
            yield pod


def _has_run(status: ContainerStatus) -> bool:
    states = (status.state, status.last_state)
    return any(state is not None and (state.running or state.terminated) for state in states)


def _pause(known: PodWarning) -> timedelta:
    return timedelta(seconds=dict(enumerate(_ASKED_EVERY, 1)).get(known.asked, _ASKED_AT_LAST))


def _order(pod: RayPod) -> tuple[bool, str]:
    return not pod.is_head, pod.metadata.name


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
    return sorted(found, key=lambda finding: _order(finding.pod))


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
