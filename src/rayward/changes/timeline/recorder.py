"""The registry entry that records the timeline, from watches that the operator has anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from rayward.changes.recording import REVISIONS
from rayward.changes.timeline import transitions
from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.store import Store
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.meta import controller_of, rfc3339
from rayward.kube.core.objects import Key
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import CONTROLLER_REVISIONS, PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.registry import Environment, Registration, Source

_FLUSH_SECONDS: Final = 1.0
_MOST: Final = 10_000
"""Entries between two writes; of more the oldest are dropped."""


def registration(store: Store, kinds: Sequence[Source[Any]], pods: Source[Any]) -> Registration:
    """The entry; ``kinds`` and ``pods`` are the operator's own sources, so that nothing is watched twice."""
    return Registration(
        name="timeline",
        resource=RAY_CLUSTERS,
        component="timeline-recorder",
        rules=(rule(READ, *(one.resource for one in kinds)), rule(READ, PODS), rule(READ, CONTROLLER_REVISIONS)),
        build=lambda environment, metrics: Recorder(environment, store, kinds, pods),
    )


class Recorder:
    """Turns changes of caches into entries, and writes them a moment later."""

    def __init__(self, environment: Environment, store: Store, kinds: Sequence[Source[Any]], pods: Source[Any]) -> None:
        self.controller = Controller("timeline", self._reconcile, workers=1, clock=environment.clock)
        self.background: Sequence[Callable[[], Awaitable[Any]]] = (self._run,)
        self._clock = environment.clock
        self._store = store
        self._waiting: list[Entry] = []
        self._caches: Mapping[str, Cache[Any]] = {
            source.resource.kind: environment.informers.cache(source) for source in kinds
        }
        for kind, cache in self._caches.items():
            cache.subscribe(self._listener(kind, cache))
        pod_cache = environment.informers.cache(pods)
        pod_cache.subscribe(lambda old, new: self._keep(pod_cache, self._pod(old, new)))
        revisions = environment.informers.cache(REVISIONS)
        revisions.subscribe(lambda old, new: self._keep(revisions, transitions.of_revision(old, new, self._now())))

    async def drain(self, seconds: float = 0.0) -> None:
        """Write what is waiting."""
        self._flush()

    def _listener(self, kind: str, cache: Cache[Any]) -> Callable[[Any, Any], None]:
        return lambda old, new: self._keep(cache, transitions.of_object(kind, old, new, self._now()))

    def _pod(self, old: Any, new: Any) -> Any:
        metadata = (new or old).metadata
        name = metadata.label(labels.CLUSTER)
        cluster: Any = self._caches["RayCluster"].get(Key(metadata.namespace, name))
        owner = controller_of(cluster) if cluster is not None else None
        about = f"{owner.kind}/{owner.name}" if owner is not None else f"RayCluster/{name}"
        return transitions.of_pod(old, new, self._now(), about)

    def _keep(self, cache: Cache[Any], entries: Any) -> None:
        if not cache.synced:
            # what was there before this process began was recorded by the one before it, or by nobody
            return
        self._waiting.extend(entries)
        del self._waiting[:-_MOST]

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            self._flush()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._store.append(waiting)

    def _now(self) -> str:
        return rfc3339(self._clock.utc())

    async def _reconcile(self, key: Key) -> Result:
        return DONE
