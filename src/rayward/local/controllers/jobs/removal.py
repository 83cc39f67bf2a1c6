"""Which pods a job gives up first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rayward.local.controllers.jobs.indexes import index_of
from rayward.local.controllers.jobs.job import JobSpec
from rayward.local.controllers.pods import SeenPod

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def superfluous(spec: JobSpec, active: Sequence[SeenPod], at_least: int) -> list[SeenPod]:
    """The pods to delete: those whose index is taken or none, and others until there are enough."""
    removed: list[SeenPod] = []
    left = _least_first(active)
    if spec.indexed:
        by_index: dict[int | None, list[SeenPod]] = {}
        for pod in left:
            by_index.setdefault(index_of(pod, spec.completions or 0), []).append(pod)
        removed = by_index.pop(None, [])
        for same in by_index.values():
            removed.extend(same[:-1])
        going = {pod.metadata.uid for pod in removed}
        left = [pod for pod in left if pod.metadata.uid not in going]
    return [*removed, *left[: max(0, at_least - len(removed))]]


def _least_first(active: Sequence[SeenPod]) -> list[SeenPod]:
    """The order in which the least is lost: unscheduled, pending, not ready, ready for the shortest time, newest."""
    found = sorted(active, key=lambda pod: pod.metadata.creation_timestamp or "", reverse=True)
    found.sort(key=_restarts, reverse=True)
    found.sort(key=_ready_since, reverse=True)
    found.sort(key=lambda pod: (bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0), pod.ready))
    return found


def _restarts(pod: SeenPod) -> int:
    return max((found.restart_count for found in pod.status.container_statuses or ()), default=0)


def _ready_since(pod: SeenPod) -> str:
    ready = pod.condition("Ready")
    return (ready.last_transition_time or "") if ready is not None and pod.ready else ""
