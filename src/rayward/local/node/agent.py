"""Gives every pod of this node its worker, and hands it each change of its object."""

from __future__ import annotations

import asyncio
import logging

from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache
from rayward.local.node import runs
from rayward.local.node.folders import PodFolder
from rayward.local.node.work.host import Host
from rayward.local.node.work.worker import PodWorker

_log = logging.getLogger(__name__)


class Agent:
    """The workers of all pods on this machine's nodes."""

    def __init__(self, host: Host, pods: Cache[Pod]) -> None:
        self._host = host
        self._pods = pods
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def worker(self, namespace: str, name: str) -> PodWorker | None:
        """The worker of a pod by its name."""
        found = self._pods.get(Key(namespace, name))
        return None if found is None else self._workers.get(found.metadata.uid)

    @property
    def workers(self) -> list[PodWorker]:
        return list(self._workers.values())

    async def adopt(self) -> None:
        """Take up what an earlier process of this node left: living pods, records of dead ones, orphans."""
        living = await self._host.sandboxes.pods()
        for folder in self._host.folders.all():
            record = folder.read()
            if record is not None and record.address:
                self._host.addresses.keep(record.address)
            if record is not None and folder.uid in living:
                for container, numbers in runs.graphics(folder).items():
                    self._host.graphics.keep(record.node, folder.uid, container, numbers)
        uids = {found.metadata.uid for found in self._pods}
        for folder in self._host.folders.all():
            if folder.uid not in uids:
                self._take_orphan(folder)
        for uid in living:
            if uid not in uids and self._host.folders.pod(uid).read() is None:
                await self._host.sandboxes.kill(uid)

    def start(self) -> None:
        """Follow the cache from now on."""
        self._pods.subscribe(self._changed)

    def refresh(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """A ConfigMap or Secret changed."""
        changed = new or old
        if changed is not None:
            for worker in self._workers.values():
                if worker.pod["metadata"]["namespace"] == changed.metadata.namespace:
                    worker.refresh()

    async def stop(self) -> None:
        """Let go of all workers; their pods go on."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        found = new or old
        if found is None or found.spec.node_name not in self._host.nodes:
            return
        worker = self._workers.get(found.metadata.uid)
        if new is None:
            if worker is not None:
                worker.vanish()
            return
        whole = self._pods.whole(new.key)
        if whole is None:
            return
        if worker is None:
            self._employ(whole)
        else:
            worker.update(whole)

    def _employ(self, pod: Object) -> PodWorker:
        worker = PodWorker(self._host, pod)
        self._workers[worker.uid] = worker
        task = self._tasks[worker.uid] = asyncio.create_task(worker.run())
        task.add_done_callback(lambda done: self._retired(worker, done))
        return worker

    def _retired(self, worker: PodWorker, task: asyncio.Task[None]) -> None:
        self._workers.pop(worker.uid, None)
        self._tasks.pop(worker.uid, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the worker of pod %s failed", worker.uid, exc_info=error)
            found = next((pod for pod in self._pods if pod.metadata.uid == worker.uid), None)
            if found is not None:
                asyncio.get_running_loop().call_later(1.0, self._changed, None, found)

    def _take_orphan(self, folder: PodFolder) -> None:
        record = folder.read()
        if record is None or record.node not in self._host.nodes:
            folder.remove()
            return
        metadata = {"name": record.name, "namespace": record.namespace, "uid": record.uid}
        spec = {**record.spec, "nodeName": record.node}
        pod: Object = {"apiVersion": "v1", "kind": PODS.kind, "metadata": metadata, "spec": spec, "status": {}}
        self._employ(pod).vanish()
