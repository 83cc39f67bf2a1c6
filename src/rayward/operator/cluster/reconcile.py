"""The loop: look, decide, write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urlencode

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kinds.validation import cluster_problems
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.meta import controller_of, rfc3339
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PODS, Resource
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.kube.runtime.workers import WorkersObserver
from rayward.net.errors import NetworkError
from rayward.operator.cluster import status as statuses
from rayward.operator.cluster.carry import Carrier
from rayward.operator.cluster.decide import plan
from rayward.operator.cluster.drifting import drift_of
from rayward.operator.cluster.memory import Memory
from rayward.operator.cluster.observe import Caches, Observed, observe
from rayward.operator.cluster.outcomes import Outcome, failure, notes
from rayward.operator.cluster.plan import LogWanted, Note, Plan
from rayward.operator.cluster.pod import RayPod
from rayward.operator.unbroken import DRAIN_SECONDS, Unbroken
from rayward.operator.writing import WORKERS, WRITE, brief

NAME: Final = "raycluster"

_UNSEEN_SECONDS: Final = 60.0
"""What is there and the caches do not show, such as a secret of the user's that the cluster uses, is looked for so
often."""
_LOG_SECONDS: Final = 5.0
_LOG_LIMITS: Final = {"previous": "true", "tailLines": "10", "limitBytes": "4096"}


class ClusterReconciler:
    """Makes the RayClusters in ``caches`` true."""

    def __init__(
        self,
        client: Client,
        caches: Caches,
        recorder: EventRecorder,
        *,
        workers: int = WORKERS,
        observer: WorkersObserver | None = None,
        clock: Clock = SYSTEM_CLOCK,
        status_written: Callable[[RayCluster, RayClusterStatus], None] | None = None,
    ) -> None:
        self.controller = Controller(NAME, self._reconcile, workers=workers, observer=observer, clock=clock)
        self._client = client
        self._caches = caches
        self._recorder = recorder
        self._clock = clock
        self._status_written = status_written
        self._memories: dict[Key, Memory] = {}
        self._unbroken = Unbroken()
        self.controller.watch(caches.clusters, _spec_changed)
        self.controller.watch(caches.pods, _cluster_of_pod)
        for cache in caches.of_children:
            self.controller.watch(cache, _owner)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent: the next leader must not begin before the server has acted."""
        await self._unbroken.drain(seconds)

    async def _reconcile(self, key: Key) -> Result:
        cluster = self._caches.clusters.get(key)
        if cluster is None:
            self._memories.pop(key, None)
            return DONE
        memory = self._memories.get(key)
        if memory is None or memory.uid != cluster.metadata.uid:
            memory = self._memories[key] = Memory(cluster.metadata.uid)
        cluster = memory.with_status(cluster)
        observed = observe(self._caches, cluster, memory, self._clock.now())
        memory.forget_pods({pod.metadata.uid for pod in observed.pods})
        todo = plan(cluster, observed, self._clock.utc())
        self._tell(cluster, memory.news(todo.notes, cluster.metadata.generation))
        memory.progress_at = (memory.progress_at or self._clock.now()) if todo.waits else None
        if todo.logs:
            await self._read_logs(cluster, memory, todo.logs)
            self.controller.add(key)
        again = todo.requeue_after
        if todo.writes and await self._write(key, cluster, observed, memory, todo):
            # The status is told by the next run, which sees what came of this one.
            self.controller.add(key)
        else:
            if todo.status is not None:
                await self._write_status(cluster, memory, todo.status)
            if todo.writes:
                again = min(again or _UNSEEN_SECONDS, _UNSEEN_SECONDS)
        return DONE if again is None else Result(requeue_after=again)

    async def _write(self, key: Key, cluster: RayCluster, observed: Observed, memory: Memory, todo: Plan) -> bool:
        """Carry it out; whether anything is other than before."""

        def wrote(resource: Resource, answer: KubeObject) -> None:
            self.controller.wrote(key, self._caches.of(resource), answer)

        carrier = Carrier(self._client, cluster, memory, wrote)
        outcomes: list[Outcome] = []
        for stage in todo.stages:
            outcomes += await self._unbroken(carrier.carry_out(stage))
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
        status = statuses.status_of(cluster, observed, self._clock.utc(), drift=drift, failure=failed)
        # What could not be acted upon has not been observed.
        return msgspec.structs.replace(status, observed_generation=cluster.status.observed_generation)

    async def _write_status(self, cluster: RayCluster, memory: Memory, status: RayClusterStatus) -> None:
        metadata = cluster.metadata
        status = msgspec.structs.replace(status, last_update_time=rfc3339(self._clock.utc()))
        change = statuses.patch(statuses.body(cluster.status), statuses.body(status))
        request = verbs.patch(
            RAY_CLUSTERS,
            metadata.name,
            {"metadata": {"uid": metadata.uid}, "status": change},
            PatchType.MERGE,
            metadata.namespace,
            subresource="status",
            **WRITE,
        )
        try:
            answer = await self._unbroken(self._client.send_as(brief(request), KubeObject))
        except NotFound:
            return
        memory.told_status(answer.metadata.resource_version, status)
        if self._status_written is not None:
            self._status_written(cluster, status)

    async def _read_logs(self, cluster: RayCluster, memory: Memory, wanted: Iterable[LogWanted]) -> None:
        async def read(log: LogWanted) -> None:
            query = urlencode({"container": log.container, **_LOG_LIMITS})
            path = object_path(PODS, cluster.metadata.namespace, log.pod, "log")
            text = ""
            try:
                request = Request("GET", f"{path}?{query}", accept="*/*", seconds=_LOG_SECONDS)
                text = (await self._client.attempt(request)).body.decode(errors="replace").strip()
            except (ApiError, NetworkError):
                # Its node may be the very thing that is broken: the restart is told without last words.
                pass
            memory.logs[log.uid, log.container] = (log.restarts, text)

        await asyncio.gather(*(read(log) for log in wanted))

    def _tell(self, cluster: RayCluster, happened: Iterable[Note]) -> None:
        about = reference(RAY_CLUSTERS, cluster)
        for note in happened:
            self._recorder.record(about, note.type, note.reason, note.message)


def _spec_changed(old: RayCluster | None, new: RayCluster | None) -> Iterable[Key]:
    """Its own status, which the loop writes, is no news to it."""
    found = new or old
    if found is None:
        return ()
    if old is not None and new is not None:
        before, after = old.metadata, new.metadata
        if before == msgspec.structs.replace(after, resource_version=before.resource_version):
            return ()
    return (found.metadata.key,)


def _cluster_of_pod(old: RayPod | None, new: RayPod | None) -> Iterable[Key]:
    found = new or old
    name = found.metadata.label(labels.CLUSTER) if found else ""
    return (Key(found.metadata.namespace, name),) if found and name else ()


def _owner(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
    found = new or old
    owner = controller_of(found) if found else None
    if found is None or owner is None or owner.kind != RAY_CLUSTERS.kind:
        return ()
    return (Key(found.metadata.namespace, owner.name),)
