"""Which pods are given up first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from rayward.local.controllers.pods import SeenPod

_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def least_first(active: Iterable[SeenPod], *, ranked: bool = False) -> list[SeenPod]:
    """The order in which the least is lost: unscheduled, pending, not ready, ready for the shortest time, newest.

    ``ranked`` also heeds the cost that a user wrote on a pod, and gives up one of several on a node before one alone.
    """
    found = sorted(active, key=lambda pod: pod.metadata.creation_timestamp or "", reverse=True)
    found.sort(key=_restarts, reverse=True)
    found.sort(key=_ready_since, reverse=True)
    if ranked:
        together = Counter(pod.spec.node_name for pod in found)
        found.sort(key=lambda pod: (_cost(pod), -together[pod.spec.node_name]))
    found.sort(key=lambda pod: (bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0), pod.ready))
    return found


def _cost(pod: SeenPod) -> int:
    text = (pod.metadata.annotations or {}).get(_COST, "0")
    return int(text) if text.removeprefix("-").isdecimal() else 0


def _restarts(pod: SeenPod) -> int:
    return max((found.restart_count for found in pod.status.container_statuses or ()), default=0)


def _ready_since(pod: SeenPod) -> str:
    ready = pod.condition("Ready")
    return (ready.last_transition_time or "") if ready is not None and pod.ready else ""
