"""The conditions of a RayCluster: KubeRay's, and ours that say what its do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from rayward.kube.core.meta import with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.cluster.pod import RayPod

PROVISIONED: Final = "RayClusterProvisioned"
HEAD_READY: Final = "HeadPodReady"
REPLICA_FAILURE: Final = "ReplicaFailure"
SUSPENDING: Final = "RayClusterSuspending"
SUSPENDED: Final = "RayClusterSuspended"

HEAD_RUNNING_AND_READY: Final = "HeadPodRunningAndReady"
"""The same as HEAD_READY, under the name of its reason: scripts wait for it."""
AUTOSCALER_HEALTHY: Final = "AutoscalerHealthy"
"""Whether the autoscaler's container in the head is ready; only where there is an autoscaler."""
RECONCILING: Final = "Reconciling"
"""True from an edit until the cluster is what this generation asks for (kstatus)."""
STALLED: Final = "Stalled"
"""Whether the cluster will not become what this generation asks for without another edit (kstatus)."""

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
_AUTOSCALER: Final = "autoscaler"


class Conditions:
    """Conditions being rewritten; transition times move only with the status."""

    def __init__(self, before: Sequence[Condition] | None, generation: int, now: datetime) -> None:
        self.value: tuple[Condition, ...] = tuple(before or ())
        self._generation = generation
        self._now = now

    def set(self, kind: str, holds: bool | str, reason: str, message: str = "") -> None:
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

    def keep_generation(self, kind: str, before: Sequence[Condition] | None) -> None:
        """Have a condition speak of an earlier generation: what it says is not yet true of this one."""
        earlier = next((found.observed_generation for found in before or () if found.type == kind), None)
        behind = min(earlier or 0, self._generation - 1)
        self.value = tuple(
            msgspec.structs.replace(found, observed_generation=max(behind, 0)) if found.type == kind else found
            for found in self.value
        )

    def drop(self, kind: str) -> None:
        self.value = without_condition(self.value, kind)


def set_head_ready(conditions: Conditions, head: RayPod | None) -> None:
    """Mirror the head pod's readiness, with the reason of the container that is not ready."""
    status, reason, message = _head_ready(head)
    for kind in (HEAD_READY, HEAD_RUNNING_AND_READY):
        conditions.set(kind, status, reason, message)


def set_autoscaler_healthy(conditions: Conditions, head: RayPod | None, *, autoscaled: bool) -> None:
    """Mirror the readiness of the autoscaler's container."""
    if not autoscaled:
        conditions.drop(AUTOSCALER_HEALTHY)
        return
    if head is None:
        conditions.set(AUTOSCALER_HEALTHY, False, "HeadPodNotFound", "Head Pod not found")
        return
    found = next((each for each in head.status.container_statuses or () if each.name == _AUTOSCALER), None)
    if found is not None and found.ready:
        conditions.set(AUTOSCALER_HEALTHY, True, "AutoscalerRunning", "The autoscaler container is ready")
        return
    state = found.state.waiting or found.state.terminated if found is not None and found.state else None
    reason, message = (state.reason, state.message) if state is not None else ("", "")
    message = message or "The autoscaler container is not ready"
    conditions.set(AUTOSCALER_HEALTHY, False, reason or "AutoscalerNotReady", message)


def _head_ready(head: RayPod | None) -> tuple[str, str, str]:
    """Status, reason and message."""
    if head is None:
        return "False", "HeadPodNotFound", "Head Pod not found"
    found = next((each for each in head.status.conditions or () if each.type == "Ready"), None)
    if found is None:
        return "False", "Unknown", ""
    reason = found.reason or ("HeadPodRunningAndReady" if found.status == "True" else "Unknown")
    message = found.message
    if reason == "ContainersNotReady":
        for status in head.status.container_statuses or ():
            state = status.state.waiting or status.state.terminated if status.state else None
            if state is not None:
                reason = state.reason or reason
                message = "; ".join(part for part in (message, f"{status.name}: {state.message}") if part)
                break
    return found.status, reason, message
