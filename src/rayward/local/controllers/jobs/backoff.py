"""How long a job waits before it replaces a failed pod."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from rayward.kube.core.meta import parse_time
from rayward.local.controllers.pods import SeenPod

_FIRST_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 600.0
# More failures than double the wait to its longest make no difference.
_REMEMBERED: Final = 16


class Failures(msgspec.Struct, frozen=True):
    """When which pods failed after the last success; pods that are gone since are remembered."""

    times: dict[str, datetime] = {}
    success: datetime | None = None


def observe(before: Failures, pods: Iterable[SeenPod], failed: Iterable[SeenPod]) -> Failures:
    """What is known with these pods, of which some have failed."""
    times = {**before.times, **{pod.metadata.uid: finish_time(pod) for pod in failed}}
    ends = [finish_time(pod) for pod in pods if pod.status.phase == "Succeeded"]
    if before.success is not None:
        ends.append(before.success)
    success = max(ends) if ends else None
    later = [(time, uid) for uid, time in times.items() if success is None or time > success]
    return Failures({uid: time for time, uid in sorted(later)[-_REMEMBERED:]}, success)


def seconds_left(failures: Failures, now: datetime) -> float:
    """How long to wait: ten seconds after the first failure, twice as long after each other."""
    if not failures.times:
        return 0.0
    wait = min(_FIRST_SECONDS * 2 ** (len(failures.times) - 1), _LONGEST_SECONDS)
    return max(0.0, (max(failures.times.values()) + timedelta(seconds=wait) - now).total_seconds())


def finish_time(pod: SeenPod) -> datetime:
    """When a pod ended: its last container, or when it was no longer ready, or was deleted, or else was made."""
    sidecars = {found.name for found in pod.spec.init_containers or () if found.restart_policy == "Always"}
    inits = (found for found in pod.status.init_container_statuses or () if found.name in sidecars)
    states = [found.state for found in (*(pod.status.container_statuses or ()), *inits)]
    ends = [state.terminated.finished_at for state in states if state is not None and state.terminated is not None]
    if ends and len(ends) == len(states) and all(ends):
        return max(parse_time(end) for end in ends if end)
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time:
        return parse_time(ready.last_transition_time)
    if pod.metadata.deletion_timestamp:
        grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
        return parse_time(pod.metadata.deletion_timestamp) - grace
    return parse_time(pod.metadata.creation_timestamp or "1970-01-01T00:00:00Z")
