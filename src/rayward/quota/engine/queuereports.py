"""Writes the statuses of queues: how much is used and who waits, a moment after it changed.

Numbers that change all the time share one budget over all queues; what somebody acts upon, a condition or that a queue
has become empty, is not made to wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rayward.kinds.kueue import ClusterQueue, LocalQueue
from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from rayward.kube.client import verbs
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.ratelimit import TokenBucket
from rayward.kube.core.objects import Key
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.registry import Environment
from rayward.kube.runtime.shield import Shield
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.item import Item
from rayward.quota.engine.queuestatus import cluster_queue_status, local_queue_status
from rayward.quota.engine.takeover import KueueWatch
from rayward.quota.sources import ALL_CLUSTER_QUEUES, ALL_LOCAL_QUEUES

_SOON_SECONDS: Final = 0.25
"""Changes that come together are reported together."""
_REPORT_SECONDS: Final = 2.0
"""How often the numbers of one queue are written."""
_REPORTS_A_SECOND: Final = 5.0
"""How often the numbers of all queues are written, once the burst is used up."""
_BURST: Final = 100


class QueueReports:
    """Reports on queues once every cache that the engine was filled from is there, unless Kueue does."""

    def __init__(
        self,
        environment: Environment,
        engine: Engine,
        caches: Sequence[Cache[Any]],
        shield: Shield,
        kueue: KueueWatch,
    ) -> None:
        self._client = environment.client
        self._clock = environment.clock
        self._engine = engine
        self._caches = caches
        self._shield = shield
        self._kueue = kueue
        self._cluster_queues = environment.informers.cache(ALL_CLUSTER_QUEUES)
        self._local_queues = environment.informers.cache(ALL_LOCAL_QUEUES)
        self._due: set[Key] = set()
        """Those that will be reported in any case."""
        self._reported_at: dict[Key, float] = {}
        self._has_turn: set[Key] = set()
        """Those that wait for the time of their turn: queues that asked later come after them."""
        self._budget = TokenBucket(_REPORTS_A_SECOND, _BURST)
        self.controller = Controller("quota-queues", self._report, workers=4, clock=environment.clock)

    def add(self, key: Key) -> None:
        """The numbers of a queue change: a LocalQueue's key has a namespace."""
        is_empty = self._is_empty(key)
        if key in self._due and not is_empty:
            return
        self._due.add(key)
        since = self._clock.now() - self._reported_at.get(key, -_REPORT_SECONDS)
        self.controller.add(key, after=_SOON_SECONDS if is_empty else max(_SOON_SECONDS, _REPORT_SECONDS - since))

    async def _report(self, key: Key) -> Result:
        if not all(cache.synced for cache in self._caches):
            return Result(requeue_after=_SOON_SECONDS)
        self._due.discard(key)
        if not self._kueue.is_alone:
            # Kueue reports on its queues itself; all are added again when it is gone.
            return DONE
        now = self._clock.utc()
        queue: ClusterQueue | LocalQueue | None
        if key.namespace:
            queue = local = self._local_queues.get(key)
            cluster_queue = self._cluster_queues.get(Key("", local.spec.cluster_queue)) if local else None
            status = local_queue_status(self._engine, local, cluster_queue, self._is_admitted, now) if local else {}
        else:
            queue = cluster_queue = self._cluster_queues.get(key)
            status = cluster_queue_status(self._engine, queue, self._is_admitted, now) if queue else {}
        if queue is None:
            self._reported_at.pop(key, None)
            self._has_turn.discard(key)
            return DONE
        wanted = msgspec.convert({"status": status}, type(queue)).status
        if wanted == queue.status:
            return DONE
        urgent = self._is_empty(key) or wanted.conditions != queue.status.conditions
        if not urgent and key not in self._has_turn and (wait := self._budget.take(self._clock.now())) > 0:
            self._has_turn.add(key)
            self._due.add(key)
            return Result(requeue_after=wait)
        self._has_turn.discard(key)
        self._reported_at[key] = self._clock.now()
        await self._put_status(LOCAL_QUEUES if key.namespace else CLUSTER_QUEUES, queue, status)
        return DONE

    def _is_empty(self, key: Key) -> bool:
        name = key.name
        if key.namespace:
            local = self._local_queues.get(key)
            name = local.spec.cluster_queue if local else ""
        return not self._engine.pending.get(name) and not self._engine.holders.get(name)

    async def _put_status(self, resource: Any, queue: ClusterQueue | LocalQueue, status: Any) -> None:
        kind = type(queue)
        meta = queue.metadata
        body = {"metadata": {"uid": meta.uid}, "status": status}
        namespace = meta.namespace or None
        request = verbs.patch(
            resource, meta.name, body, PatchType.MERGE, namespace, subresource="status", field_validation="Ignore"
        )
        try:
            answer = await self._shield(self._client.send_as(request, kind))
        except NotFound:
            return
        cache: Any = self._local_queues if meta.namespace else self._cluster_queues
        self.controller.wrote(queue.key, cache, answer)

    def _is_admitted(self, item: Item) -> bool:
        workload = self._engine.workload(item.key)
        return workload is not None and workload.admitted
