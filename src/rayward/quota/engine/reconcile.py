"""The engine on an API server: objects go in from caches, decisions go out as statuses.

A pass of the engine is the reconcile of one key of its own, so passes never overlap; what it decided about a workload
is written by that workload's reconcile, many of them at once. Until a decision is written, the engine does not listen
to what the caches say of that workload. A write that failed may have been carried out all the same, and the caches may
not know: what was decided counts until the server was asked.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from rayward.kinds.kueue import (
    AdmissionCheck,
    ClusterQueue,
    LocalQueue,
    Workload,
    names,
)
from rayward.kinds.resources import (
    ADMISSION_CHECKS,
    WORKLOADS,
)
from rayward.kube.core.meta import is_true
from rayward.kube.core.objects import Key, KubeObject, version_number
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.queue import HIGH
from rayward.kube.runtime.registry import Environment, Source
from rayward.kube.runtime.shield import DRAIN_SECONDS, Shield
from rayward.quota import sources
from rayward.quota.engine import status as to
from rayward.quota.engine.apply import DecisionWriter
from rayward.quota.engine.cycle import Admit, Evict, Pend
from rayward.quota.engine.engine import Engine, Settings
from rayward.quota.engine.item import Item
from rayward.quota.engine.lifecycle import PodsReady, next_update
from rayward.quota.engine.pendingmessages import PendingMessages
from rayward.quota.engine.queuereports import QueueReports
from rayward.quota.engine.surroundings import SurroundingsOf
from rayward.quota.engine.takeover import KueueWatch
from rayward.quota.engine.writes import WorkloadWrites
from rayward.quota.sources import (
    ALL_CLUSTER_QUEUES,
    ALL_COHORTS,
    ALL_FLAVORS,
    ALL_LOCAL_QUEUES,
    ALL_NAMESPACES,
    ALL_WORKLOADS,
)

NAME: Final = "quota"
_PASS: Final = Key("", "")
"""The key whose reconcile is a pass of the engine."""
_PASS_FIRST: Final = 2 * HIGH
"""A pass waits for no write: behind those of the pass before, freed quota would lie idle until all are answered."""
_DECIDED: Final = HIGH
"""What was decided is written before anybody is told that he waits."""
_BATCH_SECONDS: Final = 0.01
"""Changes that come together are decided upon together."""
_BATCH_SHARE: Final = 4.0
_LONGEST_BATCH_SECONDS: Final = 0.2
"""Where passes take long, changes are gathered for so many times as long, but never longer than this."""


_CHECKS: Final = Source(ADMISSION_CHECKS, AdmissionCheck)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine admits."""

    engine: Settings = field(default_factory=Settings)
    pods_ready: PodsReady | None = None


class EngineReconciler:
    """Admits workloads and keeps the statuses of workloads and queues."""

    def __init__(self, environment: Environment, metrics: Any = None, settings: EngineSettings | None = None) -> None:
        del metrics
        self._settings = settings or EngineSettings()
        self.engine = Engine(self._settings.engine)
        self._client = environment.client
        self._clock = environment.clock
        self._recorder = environment.recorder
        self._shield = Shield()
        cache = environment.informers.cache
        self._workloads = cache(ALL_WORKLOADS)
        self._cluster_queues = cache(ALL_CLUSTER_QUEUES)
        self._local_queues = cache(ALL_LOCAL_QUEUES)
        self._caches: tuple[Cache[Any], ...] = (
            self._workloads,
            self._cluster_queues,
            self._local_queues,
            cache(ALL_COHORTS),
            cache(ALL_FLAVORS),
            cache(_CHECKS),
            cache(ALL_NAMESPACES),
        )
        self.controller = Controller(
            NAME,
            self._reconcile,
            workers=environment.workers,
            observer=environment.observer,
            clock=environment.clock,
        )
        self._kueue = KueueWatch(environment, self._kueue_came_or_went)
        self._reports = QueueReports(environment, self.engine, self._caches, self._shield, self._kueue)
        self.background: Sequence[Callable[[], Awaitable[Any]]] = (
            self._kueue.controller.run,
            self._reports.controller.run,
        )
        self._batch_seconds = _BATCH_SECONDS
        self._decided: dict[str, Admit | Evict] = {}
        self._writing: set[str] = set()
        """Workloads of which the engine knows more than the caches."""
        self._unsure: dict[str, Admit | Evict] = {}
        """Decisions whose write failed: nobody knows whether the server carried it out."""
        self._versions: dict[str, int] = {}
        """The newest version of each workload that the engine was given."""
        self._messages = PendingMessages()
        self._writes = WorkloadWrites(environment.client, self._shield, self._wrote)
        self._decisions = DecisionWriter(
            self.engine, self._workloads, self._writes, environment.recorder, environment.clock
        )
        self._surroundings = SurroundingsOf(
            self.engine, self._local_queues, self._cluster_queues, self._settings.pods_ready
        )
        self._listen(cache)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent."""
        await self._shield.drain(seconds)

    # what changes

    def _listen(self, cache: Callable[[Source[Any]], Any]) -> None:
        self._workloads.subscribe(self._workload_changed)
        self._cluster_queues.subscribe(self._cluster_queue_changed)
        self._local_queues.subscribe(self._local_queue_changed)
        for source in (sources.ALL_LIMIT_RANGES, sources.ALL_RUNTIME_CLASSES):
            cache(source).subscribe(self._pod_defaults_changed)
        cache(ALL_COHORTS).subscribe(self._changed(self.engine.set_cohort, self.engine.remove_cohort))
        cache(ALL_FLAVORS).subscribe(self._changed(self.engine.set_flavor, self.engine.remove_flavor))
        cache(_CHECKS).subscribe(self._changed(self._set_check, self.engine.remove_check))
        cache(ALL_NAMESPACES).subscribe(self._changed(self._set_namespace, self.engine.remove_namespace))

    def _changed(self, put: Callable[[Any], None], remove: Callable[[str], None]) -> Callable[[Any, Any], None]:
        def listener(old: KubeObject | None, new: KubeObject | None) -> None:
            if new is not None:
                put(new)
            elif old is not None:
                remove(old.metadata.name)
            self._retell(*self.engine.forest.queues)

        return listener

    def _pod_defaults_changed(
        self, old: LimitRange | RuntimeClass | None, new: LimitRange | RuntimeClass | None
    ) -> None:
        self.engine.set_pod_defaults(new or old or LimitRange(), gone=new is None)
        self._soon()

    def _set_check(self, check: AdmissionCheck) -> None:
        active = is_true(check.status.conditions, names.ACTIVE)
        self.engine.set_check(check.metadata.name, active=active, controller=check.spec.controller_name)

    def _set_namespace(self, namespace: KubeObject) -> None:
        self.engine.set_namespace(namespace.metadata.name, namespace.metadata.labels or {})

    def _cluster_queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        name = (new or old or ClusterQueue()).metadata.name
        if new is None:
            waiting = list(self.engine.pending.get(name, ()))
            self.engine.remove_cluster_queue(name)
            for item in waiting:
                self.controller.add(_key(item.key))
        else:
            self.engine.set_cluster_queue(new)
        if old is None or new is None or old.spec != new.spec or old.deleting != new.deleting:
            self._retell(name, *self.engine.forest.queues)

    def _local_queue_changed(self, old: LocalQueue | None, new: LocalQueue | None) -> None:
        queue = new or old
        if queue is None or (old is not None and new is not None and old.spec == new.spec):
            return
        if new is None:
            self.engine.remove_local_queue(str(queue.key))
        else:
            self.engine.set_local_queue(new)
        for workload in self._workloads.in_namespace(queue.metadata.namespace):
            if workload.spec.queue_name == queue.metadata.name:
                self.controller.add(workload.key)
        self._reports.add(queue.key)
        self._retell(queue.spec.cluster_queue)

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        key = (new or old or Workload()).key
        text = str(key)
        if new is None:
            self._versions.pop(text, None)
            self._writing.discard(text)
            self._messages.drop(text)
            self._told(self.engine.item(text))
            self.engine.remove_workload(text)
            for gone in (self._decided.pop(text, None), self._unsure.pop(text, None)):
                if isinstance(gone, Admit) and gone.replaces:
                    # What this one was to replace goes on, and holds its quota.
                    self._hear(gone.replaces, again=True)
            self._soon()
        elif text not in self._writing:
            self._give(new)
        if new is not None and (not new.finished or new.replaces):
            self.controller.add(key)

    def _give(self, workload: Workload, *, again: bool = False) -> None:
        """The engine learns of a workload, unless it knows a later version; one that it knows only if ``again``."""
        text = str(workload.key)
        version, known = version_number(workload.metadata.resource_version), self._versions.get(text, -1)
        if version < known or (version == known and not again):
            return
        self._versions[text] = version
        self._told(self.engine.item(text))
        self.engine.set_workload(workload, self._now().timestamp())
        self._told(self.engine.item(text))
        self._soon()

    def _told(self, item: Item | None) -> None:
        """The numbers of an item's queues change."""
        if item is not None and item.cluster_queue:
            self._reports.add(Key("", item.cluster_queue))
            self._reports.add(_key(item.queue))

    def _retell(self, *queues: str) -> None:
        """What is said about queues, and about who waits there, may have to change."""
        for name in queues:
            self._reports.add(Key("", name))
            for item in (*self.engine.pending.get(name, ()), *self.engine.holders.get(name, {}).values()):
                self.controller.add(_key(item.key))
        for local in self._local_queues:
            if local.spec.cluster_queue in queues:
                self._reports.add(local.key)
        self._soon()

    def _soon(self) -> None:
        self.controller.add(_PASS, after=self._batch_seconds, priority=_PASS_FIRST)

    # passes

    async def _reconcile(self, key: Key) -> Result:
        if key == _PASS:
            return self._schedule()
        return await self._workload(key)

    def _kueue_came_or_went(self) -> None:
        self._soon()
        if self._kueue.is_alone:
            # what waited for that: decisions, and what the statuses of workloads and queues should say
            for workload in self._workloads:
                self.controller.add(workload.key)
            self._retell(*self.engine.forest.queues)
            # also those whose ClusterQueue does not exist: that is what they should say
            for local in self._local_queues:
                self._reports.add(local.key)
        else:
            _log.error("nothing is admitted: %s", self._kueue.found)

    def _schedule(self) -> Result:
        if not self._kueue.is_alone:
            self._kueue.tell(self._cluster_queues)
            return DONE
        now, begun = self._now().timestamp(), self._clock.now()
        decisions = self.engine.run(now)
        took = self._clock.now() - begun
        self._batch_seconds = min(max(_BATCH_SECONDS, _BATCH_SHARE * took), _LONGEST_BATCH_SECONDS)
        for decision in decisions:
            priority = 0
            if isinstance(decision, Pend):
                self._messages.put(decision, self._clock.now())
            else:
                priority = _DECIDED
                self._messages.drop(decision.key)
                self._decided[decision.key] = decision
                self._writing.add(decision.key)
                if isinstance(decision, Admit) and decision.replaces:
                    self._writing.add(decision.replaces)
            self._told(self.engine.item(decision.key))
            self.controller.add(_key(decision.key), priority=priority)
        wake = self.engine.next_wake()
        return DONE if wake is None else Result(requeue_after=max(_BATCH_SECONDS, wake - now))

    # workloads

    async def _workload(self, key: Key) -> Result:
        text = str(key)
        if text in self._unsure:
            await self._ask(key)
        workload = self._workloads.get(key)
        decision = self._decided.pop(text, None)
        if decision is not None:
            try:
                written = (
                    workload is not None and self._kueue.is_alone and await self._decisions.apply(workload, decision)
                )
            except BaseException:
                self._unsure[text] = decision
                raise
            # where nothing was written, the engine takes back what it assumed
            self._hear(text, again=not written)
            if not written and isinstance(decision, Evict):
                self.engine.not_evicted(text)
            if isinstance(decision, Admit) and decision.replaces:
                self._hear(decision.replaces, again=not written)
            return DONE
        if workload is None or text in self._writing or not self._kueue.is_alone:
            return DONE
        if workload.reserved and workload.replaces and await self._decisions.finish_replaced(workload):
            return DONE
        return await self._update(workload)

    async def _ask(self, key: Key) -> None:
        """What became of a write that failed: taken from the server, because caches may not show it yet."""
        text, found = str(key), await self._writes.read(key)
        decision = self._unsure.pop(text, None)
        self._writing.discard(text)
        if found is not None:
            self._give(found, again=True)
        else:
            self.engine.remove_workload(text)
            self._soon()
        if isinstance(decision, Evict) and not (found and found.evicted):
            self.engine.not_evicted(text)
        if isinstance(decision, Admit) and decision.replaces:
            self._hear(decision.replaces, again=True)

    async def _update(self, workload: Workload) -> Result:
        found = next_update(workload, self._surroundings.of(workload), self._now())
        if found.deactivate:
            await self._writes.deactivate(workload)
            return DONE
        if found.status is not None:
            await self._writes.apply(workload, found.status, decided=False)
            if found.event is not None:
                self._recorder.event(WORKLOADS, workload, found.event.kind, found.event.reason, found.event.message)
            return DONE
        again = await self._say_why(workload)
        waits = [seconds for seconds in (found.again, again) if seconds is not None]
        return Result(requeue_after=min(waits)) if waits else DONE

    async def _say_why(self, workload: Workload) -> float | None:
        """Tells a waiting workload what it waits for; otherwise in how many seconds that is due."""
        text, queue = str(workload.key), self._surroundings.queue_of(workload)
        if workload.reserved or text not in self.engine.pending.get(queue, ()):
            return None
        if not self.engine.inventory.state(queue).active:
            # The update of its status says so, and the two would take turns.
            return None
        found = self._messages.next(text, workload.condition(names.QUOTA_RESERVED), self._clock.now())
        if not isinstance(found, Pend):
            return found
        self._messages.told(text, self._clock.now())
        item = self.engine.item(text)
        status = to.unreserved(workload, found.reason, found.message, self._now(), item)
        await self._writes.apply(workload, status, decided=False)
        self._recorder.event(WORKLOADS, workload, "Warning", found.reason, found.message)
        return None

    def _wrote(self, answer: Workload, decided: bool) -> None:
        self.controller.wrote(answer.key, self._workloads, answer)
        if decided or str(answer.key) not in self._writing:
            # Quota may have been reserved since this was sent: an answer without it would free that.
            self._give(answer)

    def _hear(self, text: str, *, again: bool) -> None:
        """Listen to the caches again."""
        self._writing.discard(text)
        newest = self._workloads.get(_key(text))
        if newest is not None:
            self._give(newest, again=again)

    def _now(self) -> datetime:
        return self._clock.utc()


def _key(text: str) -> Key:
    namespace, _, name = text.partition("/")
    return Key(namespace, name)
