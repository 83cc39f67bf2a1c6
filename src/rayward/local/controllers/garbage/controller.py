"""Garbage collection as a running part."""

from __future__ import annotations

from typing import Final, Never

from rayward.kube.client.api import Client
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.workers import Workers
from rayward.local.controllers.garbage.cluster import ApiCluster
from rayward.local.controllers.garbage.collector import Collector
from rayward.local.controllers.garbage.graph import Graph, node_of
from rayward.local.controllers.monitors import Monitors

_WORKERS: Final = 16


class GarbageController:
    """Follows the monitors and looks at whatever they call into question."""

    def __init__(self, client: Client, monitors: Monitors, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._graph = Graph()
        cluster = ApiCluster(client, monitors.catalogue)
        collector = Collector(self._graph, cluster, synced=lambda: monitors.synced, now=clock.now)
        self._workers: Workers[str] = Workers("garbage collection", collector.look_at, workers=_WORKERS, clock=clock)
        monitors.subscribe(self._changed, self._unwatched)

    async def run(self) -> Never:
        await self._workers.run()

    def _changed(self, resource: Resource, old: KubeObject | None, new: KubeObject | None) -> None:
        if new is not None:
            self._look(self._graph.observe(node_of(resource, new)))
        elif old is not None:
            self._look(self._graph.remove(old.metadata.uid))

    def _unwatched(self, found: KubeObject) -> None:
        self._look(self._graph.forget(found.metadata.uid))

    def _look(self, uids: set[str]) -> None:
        for uid in uids:
            self._workers.add(uid)
