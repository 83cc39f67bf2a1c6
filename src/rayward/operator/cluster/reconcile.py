"""The loop: look, decide, write."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kinds.validation import cluster_problems
from rayward.kube.client.errors import ApiError
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.resource import PODS, Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.predicates import controller_key, label_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment
from rayward.net.errors import NetworkError
from rayward.operator.base.writing import WRITE, is_managed_here
from rayward.operator.cluster import status as statuses
from rayward.operator.cluster.carry import Carrier
from rayward.operator.cluster.decide import plan
from rayward.operator.cluster.drifting import drift_of
from rayward.operator.cluster.memory import Memory
from rayward.operator.cluster.metrics import ClusterMetrics
from rayward.operator.cluster.observe import CLUSTERS, Observed, caches_of, observe
from rayward.operator.cluster.outcomes import Outcome, failure, notes
from rayward.operator.cluster.plan import LogWanted, Note, Plan

NAME: Final = "raycluster"

_UNSEEN_SECONDS: Final = 60.0
"""What is there and the caches do not show, such as a secret of the user's that the cluster uses, is looked for so
often."""
_LOG_SECONDS: Final = 5.0
_LOG_LIMITS: Final = {"previous": "true", "tailLines": "10", "limitBytes": "4096"}


class ClusterReconciler(Reconciler[RayCluster, Memory]):
    """Makes RayClusters true."""

    def __init__(self, environment: Environment, metrics: ClusterMetrics) -> None:
        super().__init__(NAME, environment, CLUSTERS, WRITE, Memory)
        self._caches = caches = caches_of(environment.informers)
        self._metrics = metrics
        metrics.follow(caches.clusters)
        self.controller.watch(caches.pods, label_key(labels.CLUSTER))
        for cache in caches.of_children:
            self.controller.watch(cache, controller_key(RAY_CLUSTERS))

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return self._caches.by_resource

    def manages(self, found: RayCluster) -> bool:
        """Whether the cluster is left to this operator."""
        return is_managed_here(found.spec.managed_by)

    async def reconcile(self, found: RayCluster, local: Memory) -> Result:
        """Observe, decide, write, report."""
        key, memory = found.key, local
        cluster = memory.with_status(found)
        observed = observe(self._caches, cluster, memory, self.clock.now())
        memory.forget_pods({pod.metadata.uid for pod in observed.pods})
        todo = plan(cluster, observed, self.clock.utc())
        self._tell(cluster, memory.news(todo.notes, cluster.metadata.generation))
        memory.progress_at = (memory.progress_at or self.clock.now()) if todo.waits else None
        if todo.logs:
            await self._read_logs(cluster, memory, todo.logs)
            self.controller.add(key)
        again = todo.requeue_after
        if todo.writes and await self._write(cluster, observed, memory, todo):
            # The status is told by the next run, which sees what came of this one.
            self.controller.add(key)
        else:
            if todo.status is not None:
                await self._write_status(cluster, memory, todo.status)
            if todo.writes:
                again = min(again or _UNSEEN_SECONDS, _UNSEEN_SECONDS)
        return DONE if again is None else Result(requeue_after=again)

    async def _write(self, cluster: RayCluster, observed: Observed, memory: Memory, todo: Plan) -> bool:
        """Carry it out; whether anything is other than before."""
        carrier = Carrier(self.writer(cluster), cluster, memory)
        outcomes: list[Outcome] = []
        for stage in todo.stages:
            outcomes += await carrier.carry_out(stage)
            if any(outcome.error is not None for outcome in outcomes):
                break
        failed = failure(outcomes)
        happened = notes(cluster, outcomes)
        if failed is None:
            self._tell(cluster, happened)
            return any(outcome.changed for outcome in outcomes)
        self._tell(cluster, [note for note in happened if note.type == "Normal"])
        repeated = tuple(note for note in happened if note.type == "Warning")
        self._tell(cluster, memory.news(repeated, cluster.metadata.generation))
        if not cluster.deleting:
            status = todo.status if cluster_problems(cluster) else self._failed(cluster, observed, failed)
            if status is not None and statuses.changed(cluster.status, status):
                await self._write_status(cluster, memory, status)
        raise next(outcome.error for outcome in outcomes if outcome.error is not None)

    def _failed(self, cluster: RayCluster, observed: Observed, failed: statuses.Failure) -> RayClusterStatus:
        drift = drift_of(cluster, observed.pods)
        status = statuses.status_of(cluster, observed, self.clock.utc(), drift=drift, failure=failed)
        # What could not be acted upon has not been observed.
        return msgspec.structs.replace(status, observed_generation=cluster.status.observed_generation)

    async def _write_status(self, cluster: RayCluster, memory: Memory, status: RayClusterStatus) -> None:
        status = msgspec.structs.replace(status, last_update_time=rfc3339(self.clock.utc()))
        change = statuses.patch(statuses.body(cluster.status), statuses.body(status))
        answer = await self.writer(cluster).patch_status(RAY_CLUSTERS, cluster, change, wait=False)
        if answer is not None:
            memory.told_status(answer.metadata.resource_version, status)
            self._metrics.status_written(cluster, status)

    async def _read_logs(self, cluster: RayCluster, memory: Memory, wanted: Iterable[LogWanted]) -> None:
        async def read(log: LogWanted) -> None:
            query = urlencode({"container": log.container, **_LOG_LIMITS})
            path = object_path(PODS, cluster.metadata.namespace, log.pod, "log")
            text = ""
            try:
                request = Request("GET", f"{path}?{query}", accept="*/*", seconds=_LOG_SECONDS)
                text = (await self.client.attempt(request)).body.decode(errors="replace").strip()
            except (ApiError, NetworkError):
                # Its node may be the very thing that is broken: the restart is told without last words.
                pass
            memory.logs[log.uid, log.container] = (log.restarts, text)

        await asyncio.gather(*(read(log) for log in wanted))

    def _tell(self, cluster: RayCluster, happened: Iterable[Note]) -> None:
        for note in happened:
            self.recorder.event(RAY_CLUSTERS, cluster, note.type, note.reason, note.message)
