"""Observe, decide, apply, report: the reconcile of a RayCluster."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from rayward.kinds import labels
from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import ApiError
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import EVENTS, PODS, Resource
from rayward.kube.core.status import status_body, status_change
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.predicates import controller_key, label_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment
from rayward.net.errors import NetworkError
from rayward.operator.base.writing import WRITE
from rayward.operator.cluster import status as statuses
from rayward.operator.cluster.apply import apply
from rayward.operator.cluster.decide import decide
from rayward.operator.cluster.drift import drift_of
from rayward.operator.cluster.events import Outcome, events, failure
from rayward.operator.cluster.gate import gate_of
from rayward.operator.cluster.local import LocalState
from rayward.operator.cluster.metrics import ClusterMetrics
from rayward.operator.cluster.observe import CLUSTERS, caches_of, observe, pods_of
from rayward.operator.cluster.ordering import priority_of
from rayward.operator.cluster.pod_problems import warning_of
from rayward.operator.cluster.state import Decision, Event, LogRequest, Observed, State, WarningRequest
from rayward.operator.cluster.version import target_of
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import Reach
from rayward.operator.ray.versionprobe import VersionProbe, VersionTarget

NAME: Final = "raycluster"

_UNWATCHED_SECONDS: Final = 60.0
"""How often an object is checked that the cluster uses and no cache shows, such as a user's own secret."""
_LOG_SECONDS: Final = 5.0
_VERSIONS_AT_ONCE: Final = 8
"""Few: in a burst, heads that are asked which Ray they run must not take from those that are not ready yet."""
_LOG_LIMITS: Final = {"previous": "true", "tailLines": "10", "limitBytes": "4096"}


class ClusterReconciler(Reconciler[RayCluster, LocalState]):
    def __init__(
        self, environment: Environment, metrics: ClusterMetrics, reach: Reach, queueing: Queueing = NO_QUEUES
    ) -> None:
        super().__init__(NAME, environment, CLUSTERS, WRITE, LocalState)
        self._queueing = queueing
        self._caches = caches = caches_of(environment.informers)
        self._metrics = metrics
        metrics.follow(caches.clusters)
        self.poller: Poller[VersionTarget, str] = Poller(
            VersionProbe(reach), self.controller.add, at_once=_VERSIONS_AT_ONCE, clock=self.clock
        )
        self.background = (self.poller.run,)
        self.controller.watch(caches.pods, label_key(labels.CLUSTER), self._priority)
        for cache in caches.of_children:
            self.controller.watch(cache, controller_key(RAY_CLUSTERS))

    def _priority(self, key: Key) -> int:
        cluster, local = self._caches.clusters.get(key), self.local(key)
        if cluster is None or local is None:
            return 0
        return priority_of(cluster, pods_of(self._caches, key), local.desired(cluster).workers)

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return self._caches.by_resource

    def manages(self, found: RayCluster) -> bool:
        """Whether ``spec.managedBy`` leaves the cluster to this operator."""
        return is_managed_here(found.spec.managed_by)

    async def reconcile(self, found: RayCluster, local: LocalState) -> Result:
        """Observe, decide, apply, report."""
        cluster = local.with_status(found)
        observed = observe(self._caches, cluster, local, self.clock.now())
        observed = dataclasses.replace(observed, ray_version=self._ray_version(cluster, observed))
        local.keep_pods({pod.metadata.uid for pod in observed.pods})
        state = State(cluster, observed, local.desired(cluster), gate_of(cluster, self._queueing))

        decision = decide(state, self.clock.utc())
        self._emit(cluster, local.new_events(decision.events, cluster.metadata.generation))
        local.progress_at = (local.progress_at or self.clock.now()) if decision.batches_status else None

        if decision.logs:
            await self._read_logs(cluster, local, decision.logs)
            self.controller.add(found.key)
        if decision.warning is not None:
            await self._read_warning(cluster, local, decision.warning)
            self.controller.add(found.key)
        if decision.writes:
            outcomes = await apply(self.writer(cluster), cluster, local, decision, state.gate)
            if await self._report(state, local, decision, outcomes):
                # The next reconcile sees what was written and reports the status.
                self.controller.add(found.key)
                return _requeue(decision.requeue_after)

        if decision.status is not None:
            await self._write_status(cluster, local, decision.status)
        if decision.writes:
            return _requeue(min(decision.requeue_after or _UNWATCHED_SECONDS, _UNWATCHED_SECONDS))
        return _requeue(decision.requeue_after)

    def forget(self, key: Key) -> None:
        """A cluster that is gone is not asked for its version."""
        self.poller.drop(key)

    def _ray_version(self, cluster: RayCluster, observed: Observed) -> str:
        """The Ray that the head runs, as far as it has answered."""
        target = target_of(cluster, observed.pods)
        if target is None:
            self.poller.drop(cluster.key)
            return ""
        return self.poller.follow(cluster.key, target)

    async def _report(self, state: State, local: LocalState, decision: Decision, outcomes: list[Outcome]) -> bool:
        """Emit events about the writes; whether anything changed.

        Raises:
            ApiError: The first failure, which the status shows: the key is retried with backoff.
            NetworkError: The same.
        """
        cluster = state.cluster
        happened = events(cluster, outcomes)
        failed = failure(outcomes)
        if failed is None:
            self._emit(cluster, happened)
            return any(outcome.changed for outcome in outcomes)
        self._emit(cluster, [event for event in happened if event.type == "Normal"])
        warnings = [event for event in happened if event.type == "Warning"]
        self._emit(cluster, local.new_events(warnings, cluster.metadata.generation))
        if not cluster.deleting:
            status = decision.status
            if not state.desired.problems:
                drift = drift_of(state.desired, state.observed.pods)
                status = statuses.status_of(state, self.clock.utc(), drift=drift, failure=failed)
            if status is not None and statuses.changed(cluster.status, status):
                await self._write_status(cluster, local, status)
        raise next(outcome.error for outcome in outcomes if outcome.error is not None)

    async def _write_status(self, cluster: RayCluster, local: LocalState, status: RayClusterStatus) -> None:
        status = msgspec.structs.replace(status, last_update_time=rfc3339(self.clock.utc()))
        change = status_change(status_body(cluster.status), status_body(status))
        answer = await self.writer(cluster).patch_status(RAY_CLUSTERS, cluster, change, wait=False)
        if answer is not None:
            local.status_written(answer.metadata.resource_version, status)
            self._metrics.status_written(cluster, status)

    async def _read_logs(self, cluster: RayCluster, local: LocalState, requests: Iterable[LogRequest]) -> None:
        async def read(log: LogRequest) -> None:
            query = urlencode({"container": log.container, **_LOG_LIMITS})
            path = object_path(PODS, cluster.metadata.namespace, log.pod, "log")
            text = ""
            try:
                request = Request("GET", f"{path}?{query}", accept="*/*", seconds=_LOG_SECONDS)
                text = (await self.client.attempt(request)).body.decode(errors="replace").strip()
            except (ApiError, NetworkError):
                # Its node may be the very thing that is broken: the restart is reported without the log.
                pass
            local.logs[log.uid, log.container] = (log.restarts, text)

        await asyncio.gather(*(read(log) for log in requests))

    async def _read_warning(self, cluster: RayCluster, local: LocalState, pod: WarningRequest) -> None:
        about = f"involvedObject.uid={pod.uid}"
        events: list[Object] = []
        # Without an answer the pod counts as one that starts, and is asked about again later.
        with contextlib.suppress(ApiError, NetworkError):
            events = (await self.client.list(EVENTS, cluster.metadata.namespace, field_selector=about)).items
        local.warnings[pod.uid] = warning_of(events, pod.asked + 1, self.clock.utc())

    def _emit(self, cluster: RayCluster, happened: Iterable[Event]) -> None:
        for event in happened:
            self.recorder.event(RAY_CLUSTERS, cluster, event.type, event.reason, event.message)


def _requeue(after: float | None) -> Result:
    return DONE if after is None else Result(requeue_after=after)
