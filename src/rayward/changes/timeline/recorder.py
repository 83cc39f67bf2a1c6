"""The registry entry that records the timeline, from watches that the operator has anyway, and from one of warnings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rayward.changes.recording import REVISIONS
from rayward.changes.timeline import exits, transitions
from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.logends import LogEnds
from rayward.changes.timeline.measured import ChangeMetrics
from rayward.changes.timeline.store import Store
from rayward.changes.timeline.warned import WARNINGS, Warned
from rayward.kinds import labels
from rayward.kinds.resources import GROUP, RAY_CLUSTERS
from rayward.kube.core.meta import controller_of, rfc3339
from rayward.kube.core.objects import Key
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import CONTROLLER_REVISIONS, EVENTS, PODS, SERVICES
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.registry import Environment, Registration, Source

_FLUSH_SECONDS: Final = 1.0
_MOST: Final = 10_000
"""Entries between two writes; of more the oldest are dropped."""


@dataclass(frozen=True)
class Watched:
    """What is recorded: the operator's own sources, so that nothing is watched twice.

    Attributes:
        kinds: Ray's kinds, RayCluster among them.
        pods: Their pods.
        services: Services; those that no object of Ray's owns are passed over.
        workloads: Demands for quota, where somebody here sees to it.
    """

    kinds: Sequence[Source[Any]]
    pods: Source[Any]
    services: Source[Any]
    workloads: Source[Any] | None = None


def registration(store: Store, watched: Watched) -> Registration:
    """The entry."""
    rules = (
        rule(READ, *(one.resource for one in watched.kinds)),
        rule(READ, PODS, SERVICES),
        rule(("list", "watch"), EVENTS),
        rule(READ, CONTROLLER_REVISIONS),
        rule(("get",), PODS, subresource="log"),
        *((rule(READ, watched.workloads.resource),) if watched.workloads is not None else ()),
    )
    return Registration(
        name="timeline",
        resource=RAY_CLUSTERS,
        component="timeline-recorder",
        rules=rules,
        build=lambda environment, metrics: Recorder(environment, store, watched, metrics),
        metrics=ChangeMetrics,
    )


class Recorder:
    """Turns changes of caches into entries, and writes them a moment later."""

    def __init__(self, environment: Environment, store: Store, watched: Watched, metrics: ChangeMetrics) -> None:
        self.controller = Controller("timeline", self._reconcile, workers=1, clock=environment.clock)
        self._clock = environment.clock
        self._store = store
        self._waiting: list[Entry] = []
        self._unplaced: list[tuple[Warned | None, Warned]] = []
        """Warnings about pods that were told of before their pod was."""
        caches = environment.informers.cache
        self._caches: Mapping[str, Cache[Any]] = {one.resource.kind: caches(one) for one in watched.kinds}
        for kind, cache in self._caches.items():
            cache.subscribe(self._listener(kind, cache))
        self._pods = caches(watched.pods)
        self._logs = LogEnds(environment.client, self._pods.get, self._waiting_for)
        self.background: Sequence[Callable[[], Awaitable[Any]]] = (self._run, self._logs.run)
        self._pods.subscribe(self._pod)
        services = caches(watched.services)
        services.subscribe(lambda old, new: self._keep(services, transitions.of_service(old, new, self._now())))
        revisions = caches(REVISIONS)
        revisions.subscribe(lambda old, new: self._keep(revisions, transitions.of_revision(old, new, self._now())))
        metrics.follow(revisions, self._caches)
        self._workloads = caches(watched.workloads) if watched.workloads is not None else None
        if self._workloads is not None:
            self._workloads.subscribe(self._workload)
        self._warnings = caches(WARNINGS)
        self._warnings.subscribe(self._event)

    async def drain(self, seconds: float = 0.0) -> None:
        """Write what is waiting."""
        self._logs.drain()
        self._flush()

    def _listener(self, kind: str, cache: Cache[Any]) -> Callable[[Any, Any], None]:
        return lambda old, new: self._keep(cache, transitions.of_object(kind, old, new, self._now()))

    def _pod(self, old: Any, new: Any) -> None:
        if not self._pods.synced:
            return
        about = self._owner_of_pod(new or old)
        self._keep(self._pods, transitions.of_pod(old, new, self._now(), about))
        for ended in exits.of_pod(old, new, self._now(), about):
            if ended.wants_log:
                self._logs.add(ended)
            else:
                self._waiting_for(ended.entry)

    def _workload(self, old: Any, new: Any) -> None:
        assert self._workloads is not None
        owner = self._asker_of(new or old)
        self._keep(self._workloads, transitions.of_workload(old, new, self._now(), owner))

    def _event(self, old: Warned | None, new: Warned | None) -> None:
        # one that expired is no news
        if new is None or not self._warnings.synced or self._tell(old, new):
            return
        if new.involved_object.kind == "Pod":
            self._unplaced.append((old, new))
            del self._unplaced[:-_MOST]

    def _tell(self, old: Warned | None, new: Warned) -> bool:
        """Keep a warning; False where it is about something that is not known here."""
        about = new.involved_object
        key = Key(about.namespace, about.name)
        if about.api_version.startswith(f"{GROUP}/"):
            found = self._caches[about.kind].get(key) if about.kind in self._caches else None
            owner = self._owner_of(found) if found is not None else ""
        else:
            cache = {"Pod": self._pods, "Workload": self._workloads}.get(about.kind)
            found = cache.get(key) if cache is not None else None
            if found is None:
                return False
            owner = self._owner_of_pod(found) if about.kind == "Pod" else self._asker_of(found)
        self._keep(self._warnings, transitions.of_event(old, new, self._now(), owner))
        return True

    def _owner_of_pod(self, pod: Any) -> str:
        return self._root_of("RayCluster", pod.metadata.namespace, pod.metadata.label(labels.CLUSTER))

    def _owner_of(self, found: Any) -> str:
        """Whom an object is made for; empty where nobody owns it."""
        owner = controller_of(found)
        return self._root_of(owner.kind, found.metadata.namespace, owner.name) if owner is not None else ""

    def _asker_of(self, workload: Any) -> str:
        """Whom a demand for quota is for: Kueue is its owner's controller, our gate is not."""
        owner = next(iter(workload.metadata.owner_references or ()), None)
        return self._root_of(owner.kind, workload.metadata.namespace, owner.name) if owner is not None else ""

    def _root_of(self, kind: str, namespace: str, name: str) -> str:
        """``kind/name`` of what a user asked for: of a RayCluster the object that made it, if one did."""
        found: Any = self._caches["RayCluster"].get(Key(namespace, name)) if kind == "RayCluster" else None
        return (self._owner_of(found) if found is not None else "") or f"{kind}/{name}"

    def _keep(self, cache: Cache[Any], entries: Iterable[Entry]) -> None:
        if not cache.synced:
            # what was there before this process began was recorded by the one before it, or by nobody
            return
        for entry in entries:
            self._waiting_for(entry)

    def _waiting_for(self, entry: Entry) -> None:
        self._waiting.append(entry)
        del self._waiting[:-_MOST]

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            unplaced, self._unplaced = self._unplaced, []
            self._flush()
            for old, new in unplaced:
                self._tell(old, new)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._store.append(waiting)

    def _now(self) -> str:
        return rfc3339(self._clock.utc())

    async def _reconcile(self, key: Key) -> Result:
        return DONE
