"""The caches of one namespace, or of all, and the controllers that work on them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Never

from rayward.kube.client.api import Client
from rayward.kube.client.metadata import metadata_client
from rayward.kube.client.options import Selectors
from rayward.kube.runtime import manager
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.reflector import Reflector
from rayward.operator.cluster.observe import CHILD_SELECTOR, JOB_SELECTOR, POD_SELECTOR, empty_caches
from rayward.operator.cluster.reconcile import NAME, ClusterReconciler
from rayward.operator.metrics import OperatorMetrics
from rayward.operator.ray.reach import Reach
from rayward.operator.service import observe as services
from rayward.operator.service import reconcile as service_loop
from rayward.operator.service.reconcile import ServiceReconciler
from rayward.operator.writing import WORKERS


class Scope:
    """Everything the operator does in ``namespace``, or in all namespaces.

    Without a ``reach`` to dashboards, RayServices are left alone.
    """

    def __init__(
        self,
        client: Client,
        namespace: str | None = None,
        *,
        recorder: EventRecorder,
        reach: Reach | None = None,
        metrics: OperatorMetrics | None = None,
        workers: int = WORKERS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.caches = caches = empty_caches()
        self._namespace = namespace
        self._clock = clock
        metadata = metadata_client(client)
        self.reflectors: list[Reflector[Any]] = [
            self._reflect(client, caches.clusters),
            self._reflect(client, caches.pods, POD_SELECTOR),
            self._reflect(client, caches.services),
            self._reflect(client, caches.jobs, JOB_SELECTOR),
            *(self._reflect(metadata, cache, CHILD_SELECTOR) for cache in caches.children.values()),
        ]
        self.clusters = ClusterReconciler(
            client,
            caches,
            recorder,
            workers=workers,
            observer=metrics.of_controller(NAME, workers) if metrics else None,
            clock=clock,
            status_written=metrics.cluster_written if metrics else None,
        )
        self.services: ServiceReconciler | None = None
        if reach is not None:
            seen = services.empty_caches(caches)
            self.reflectors += [
                self._reflect(client, seen.services),
                self._reflect(client, seen.slices, services.SLICE_SELECTOR),
            ]
            observer = metrics.of_controller(service_loop.NAME, workers) if metrics else None
            self.services = ServiceReconciler(
                client,
                seen,
                recorder,
                reach,
                workers=workers,
                observer=observer,
                clock=clock,
                changes=metrics.services if metrics else None,
            )
            if metrics is not None:
                metrics.services.follow(seen.services)
        if metrics is not None:
            metrics.follow(self.reflectors, caches.clusters)

    async def run(self, background: Callable[[], Awaitable[Any]] | None = None) -> Never:
        """Fill the caches, then work, until cancelled; then wait for the answers to what was sent."""
        controllers = [self.clusters.controller]
        others = [] if background is None else [background]
        if self.services is not None:
            controllers.append(self.services.controller)
            others.append(self.services.poller.run)
        try:
            await manager.run(self.reflectors, controllers, others)
        finally:
            # Together: a leader that could not renew must be done before its lease is over.
            await asyncio.gather(*(one.drain() for one in (self.clusters, self.services) if one is not None))

    def _reflect(self, client: Client, cache: Cache[Any], selectors: Selectors | None = None) -> Reflector[Any]:
        return Reflector(client, cache, namespace=self._namespace, selectors=selectors, clock=self._clock)
