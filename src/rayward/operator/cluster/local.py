"""What the process knows of a cluster from one reconcile to the next, and loses when it restarts.

Nothing here is needed to go on after a crash: it keeps a process from acting on caches that lag behind its own writes,
from choosing a second name for a pod whose creation was never answered, from emitting an event twice, and from
computing again what the spec asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.core.objects import version_number
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.events import EventFilter
from rayward.operator.cluster.desired import Desired
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import Event, PodWarning

Slot = tuple[str, int, int]

_JUST_NOW: Final = "1970-01-01T00:00:00Z"


class LocalState:
    def __init__(self) -> None:
        self.progress_at: float | None = None
        """Since when there is progress that the status does not show yet."""
        self.pods_forbidden = False
        """Whether the server last rejected a pod for want of rights or quota."""
        self.logs: dict[tuple[str, str], tuple[int, str]] = {}
        self.warnings: dict[str, PodWarning] = {}
        self._suffixes: dict[Slot, str] = {}
        self._created: dict[str, RayPod] = {}
        self._deleted: set[str] = set()
        self._events = EventFilter()
        self._status: tuple[int, RayClusterStatus] | None = None
        self._desired: Desired | None = None

    def desired(self, cluster: RayCluster) -> Desired:
        """What the spec asks for, computed again only where it, labels or annotations changed."""
        self._desired = Desired(cluster) if self._desired is None else self._desired.renewed(cluster)
        return self._desired

    def suffix(self, slot: Slot, choose: Callable[[], str]) -> str:
        """The random end of the name for a slot: the same until a pod with it exists."""
        if slot not in self._suffixes:
            self._suffixes[slot] = choose()
        return self._suffixes[slot]

    def pod_created(self, slot: Slot, pod: RayPod) -> None:
        """The pod of a slot exists."""
        self._suffixes.pop(slot, None)
        self._created[pod.metadata.name] = pod

    def forget_slot(self, slot: Slot) -> None:
        """The next pod of this slot gets another name."""
        self._suffixes.pop(slot, None)

    def pod_deleted(self, uid: str) -> None:
        """The server accepted the deletion of a pod."""
        self._deleted.add(uid)

    def with_deletion(self, pod: RayPod) -> RayPod:
        """A pod from the cache, terminating if this process deleted it."""
        self._created.pop(pod.metadata.name, None)
        if pod.deleting:
            self._deleted.discard(pod.metadata.uid)
        elif pod.metadata.uid in self._deleted:
            return msgspec.structs.replace(
                pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=_JUST_NOW)
            )
        return pod

    def status_written(self, version: str, status: RayClusterStatus) -> None:
        """The server accepted a status."""
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
        """Pods this process created that the cache cannot show yet."""
        if not self._created:
            return []
        self._created = {
            name: pod
            for name, pod in self._created.items()
            if version_number(pod.metadata.resource_version) > pods.version
        }
        return list(self._created.values())

    def new_events(self, events: Iterable[Event], generation: int) -> list[Event]:
        """Those not emitted yet for this generation."""
        return [event for event in events if self._events.is_new(generation, event.reason, event.message)]

    def keep_pods(self, uids: set[str]) -> None:
        """Forget all pods but these."""
        self._deleted &= uids
        for key in [key for key in self.logs if key[0] not in uids]:
            del self.logs[key]
        for uid in [uid for uid in self.warnings if uid not in uids]:
            del self.warnings[uid]
