"""When the change happened that leads to a new state of a service's endpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from rayward.local.controllers.endpoints.service import SelectingService
from rayward.local.controllers.pods import SeenPod

ANNOTATION: Final = "endpoints.kubernetes.io/last-change-trigger-time"


class Seen(msgspec.Struct, frozen=True):
    """The times that were known at the last look: of the service, and of each pod by name."""

    service: str
    pods: dict[str, str]


def last_change(before: Seen | None, service: SelectingService, pods: Iterable[SeenPod]) -> tuple[Seen, str | None]:
    """What is known now, and the earliest time that is new; a service's first is its creation.

    Times are as a server writes them, so that their order is the order of the texts.
    """
    created = service.metadata.creation_timestamp or ""
    times: dict[str, str] = {}
    for pod in pods:
        condition = pod.condition("Ready")
        if condition is not None and condition.last_transition_time:
            times[pod.metadata.name] = condition.last_transition_time
    now = Seen(created, times)
    if before is None:
        return now, created or None
    newer = [time for name, time in times.items() if time > before.pods.get(name, "")]
    if created > before.service:
        newer.append(created)
    return now, min(newer, default=None)


def stamped(annotations: dict[str, str] | None, time: str | None) -> dict[str, str]:
    """Annotations that tell the time, or none."""
    kept = {name: value for name, value in (annotations or {}).items() if name != ANNOTATION}
    return {**kept, ANNOTATION: time} if time else kept
