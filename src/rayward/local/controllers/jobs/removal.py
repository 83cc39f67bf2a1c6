"""Which pods a job gives up first."""

from __future__ import annotations

from collections.abc import Sequence

from rayward.local.controllers.jobs.indexes import index_of
from rayward.local.controllers.jobs.job import JobSpec
from rayward.local.controllers.podorder import least_first
from rayward.local.controllers.pods import SeenPod


def superfluous(spec: JobSpec, active: Sequence[SeenPod], at_least: int) -> list[SeenPod]:
    """The pods to delete: those whose index is taken or none, and others until there are enough."""
    removed: list[SeenPod] = []
    left = least_first(active)
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
