"""The conditions of a RayCluster: KubeRay's, and ours that say what its do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rayward.kube.core.meta import with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.cluster.pod import RayPod

PROVISIONED: Final = "RayClusterProvisioned"
HEAD_READY: Final = "HeadPodReady"
REPLICA_FAILURE: Final = "ReplicaFailure"
SUSPENDING: Final = "RayClusterSuspending"
SUSPENDED: Final = "RayClusterSuspended"

ACCEPTED: Final = "Accepted"
"""Whether the spec of this generation is valid."""
READY: Final = "Ready"
"""Whether all pods exist and are ready now; KubeRay's Provisioned only says that they once were."""
DRIFTED: Final = "Drifted"
"""Whether pods run that were created from another template than the spec has."""
VERSION_MISMATCH: Final = "RayVersionMismatch"
"""Whether pods run another Ray than ``spec.rayVersion``."""

_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_MAX_MESSAGE: Final = 4096


class Conditions:
    """Conditions being rewritten; transition times move only with the status."""

    def __init__(self, before: Sequence[Condition] | None, generation: int, now: datetime) -> None:
        self.value: tuple[Condition, ...] = tuple(before or ())
        self._generation = generation
        self._now = now

    def set(self, kind: str, holds: bool | str, reason: str, message: str = "") -> None:
        """Set one condition."""
        status = holds if isinstance(holds, str) else str(holds)
        reason = reason if len(reason) <= 1024 and _REASON.fullmatch(reason) else "Unknown"
        new = Condition(
            type=kind,
            status=status,
            reason=reason,
            message=message[:_MAX_MESSAGE],
            observed_generation=self._generation,
        )
        self.value = with_condition(self.value, new, self._now)

    def set_once_true(self, kind: str, holds: bool, reasons: tuple[str, str], message: str = "") -> None:
        """Set a condition that is left out until it is true for the first time; ``reasons`` are (true, false)."""
        if holds or any(found.type == kind for found in self.value):
            self.set(kind, holds, reasons[0] if holds else reasons[1], message)

    def drop(self, kind: str) -> None:
        """Remove one condition."""
        self.value = without_condition(self.value, kind)


def set_head_ready(conditions: Conditions, head: RayPod | None) -> None:
    """Mirror the head pod's readiness, with the reason of the container that is not ready."""
    if head is None:
        conditions.set(HEAD_READY, False, "HeadPodNotFound", "Head Pod not found")
        return
    found = next((each for each in head.status.conditions or () if each.type == "Ready"), None)
    if found is None:
        conditions.set(HEAD_READY, False, "Unknown")
        return
    reason = found.reason or ("HeadPodRunningAndReady" if found.status == "True" else "Unknown")
    message = found.message
    if reason == "ContainersNotReady":
        for status in head.status.container_statuses or ():
            state = status.state.waiting or status.state.terminated if status.state else None
            if state is not None:
                reason = state.reason or reason
                message = "; ".join(part for part in (message, f"{status.name}: {state.message}") if part)
                break
    conditions.set(HEAD_READY, found.status, reason, message)
