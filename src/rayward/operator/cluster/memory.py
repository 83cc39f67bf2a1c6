"""What the loop remembers of a cluster from one run to the next.

Nothing here is needed to go on after a crash: it only keeps a process from acting on caches that lag behind its own
writes, from choosing a second name for a pod whose creation was never answered, and from telling things twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.core.objects import version_number
from rayward.kube.runtime.cache import Cache
from rayward.operator.cluster.plan import Note
from rayward.operator.cluster.pod import RayPod

Slot = tuple[str, int, int]

_JUST_NOW: Final = "1970-01-01T00:00:00Z"


class Memory:
    """Of one cluster."""

    def __init__(self) -> None:
        self.progress_at: float | None = None
        """Since when there is progress that the status does not tell yet."""
        self.refused = False
        """Whether the server last refused a pod for want of rights or quota."""
        self.logs: dict[tuple[str, str], tuple[int, str]] = {}
        self._suffixes: dict[Slot, str] = {}
        self._born: dict[str, RayPod] = {}
        self._doomed: set[str] = set()
        self._told: set[Note] = set()
        self._told_generation = -1
        self._status: tuple[int, RayClusterStatus] | None = None

    def suffix(self, slot: Slot, choose: Callable[[], str]) -> str:
        """The random end of the name for a slot: the same until a pod with it is there."""
        if slot not in self._suffixes:
            self._suffixes[slot] = choose()
        return self._suffixes[slot]

    def made(self, slot: Slot, pod: RayPod) -> None:
        """The pod for a slot is there."""
        self._suffixes.pop(slot, None)
        self._born[pod.metadata.name] = pod

    def forget_slot(self, slot: Slot) -> None:
        """The next one in this place has another name."""
        self._suffixes.pop(slot, None)

    def removed(self, uid: str) -> None:
        """The server agreed to delete a pod."""
        self._doomed.add(uid)

    def as_known(self, pod: RayPod) -> RayPod:
        """A pod from the cache, terminating if we know that it is."""
        self._born.pop(pod.metadata.name, None)
        if pod.deleting:
            self._doomed.discard(pod.metadata.uid)
        elif pod.metadata.uid in self._doomed:
            return msgspec.structs.replace(
                pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=_JUST_NOW)
            )
        return pod

    def told_status(self, version: str, status: RayClusterStatus) -> None:
        """The server took a status."""
        self._status = (version_number(version), status)

    def with_status(self, cluster: RayCluster) -> RayCluster:
        """A cluster from the cache, with the status last written if the cache does not show it yet."""
        if self._status is None:
            return cluster
        version, status = self._status
        if version_number(cluster.metadata.resource_version) >= version:
            self._status = None
            return cluster
        return msgspec.structs.replace(cluster, status=status)

    def unseen(self, pods: Cache[RayPod]) -> list[RayPod]:
        """Pods we made that the cache cannot show yet."""
        if not self._born:
            return []
        self._born = {
            name: pod
            for name, pod in self._born.items()
            if version_number(pod.metadata.resource_version) > pods.version
        }
        return list(self._born.values())

    def news(self, notes: tuple[Note, ...], generation: int) -> list[Note]:
        """Those not told yet about this generation."""
        if generation != self._told_generation:
            self._told.clear()
            self._told_generation = generation
        fresh = [note for note in notes if note not in self._told]
        self._told.update(fresh)
        return fresh

    def forget_pods(self, uids: set[str]) -> None:
        """Only these pods are still there."""
        self._doomed &= uids
        for key in [key for key in self.logs if key[0] not in uids]:
            del self.logs[key]
