"""RayServices of a manager cluster, and worker clusters with an operator, a gate and an engine each."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds import labels
from rayward.kinds.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    MULTI_KUEUE_CLUSTERS,
    MULTI_KUEUE_CONFIGS,
    RAY_SERVICES,
    WORKLOADS,
)
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import NAMESPACES, Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.operator.base.writing import WORKERS
from rayward.operator.service.observe import RAY_SERVICES_WHOLE
from rayward.quota import engine, multicluster
from tests.operator.service.stage import NAME
from tests.operator.stage import condition, fresh_name, install, running
from tests.quota.engine.building import groups
from tests.quota.gate.stage import EMBEDDED, FLAVOR, GateStage, queued_service, release

_URGENT: Final = "urgent"
ENGINES: Final = ("embedded", pytest.param("real", marks=pytest.mark.kube))
"""The embedded engine everywhere; the manager cluster's server is ours, or real."""
KUEUE_TOO: Final = (*ENGINES, pytest.param("kueue", marks=pytest.mark.kube))
"""Kueue on the manager cluster, a real server, and on a worker cluster; on the other one the embedded engine."""
MANAGED_BY: Final = "kueue.x-k8s.io/multikueue"


class MulticlusterStage:
    """One namespace, on the manager cluster and on every worker cluster."""

    def __init__(
        self,
        client: Client,
        workers: Mapping[str, GateStage],
        files: Mapping[str, Path],
        admits: type[GateStage],
    ) -> None:
        self.client = client
        self.queueing = admits.queueing
        self.workers = workers
        self._files = files
        self.east, self.west = workers["east"], workers["west"]
        self.namespace = self.east.namespace

    @classmethod
    @asynccontextmanager
    async def on(
        cls,
        manager: Path,
        workers: Mapping[str, tuple[Path, type[GateStage]]],
        folder: Path,
        admits: type[GateStage] = GateStage,
    ) -> AsyncGenerator[Self]:
        """``admits`` says who admits on the manager cluster; each worker cluster says it of itself."""
        async with AsyncExitStack() as stack:
            files = {name: Path(shutil.copy(path, folder / name)) for name, (path, _) in workers.items()}
            namespace = fresh_name()
            stages: dict[str, GateStage] = {}
            for name, (path, stage) in workers.items():
                access = find_access(path)
                client = await _prepared(stack, access, stage)
                stages[name] = await stack.enter_async_context(stage.among(client, access, namespace))
            client = await _prepared(stack, find_access(manager), admits)
            await client.create(NAMESPACES, {"metadata": {"name": namespace}})
            made = cls(client, stages, files, admits)
            await made._configure()
            yield made
            await made._forget()

    async def _forget(self) -> None:
        for resource in (ADMISSION_CHECKS, MULTI_KUEUE_CONFIGS, CLUSTER_QUEUES):
            await self.client.delete(resource, self.namespace)
        for name in self.workers:
            await self.client.delete(MULTI_KUEUE_CLUSTERS, self.worker(name))

    async def _configure(self) -> None:
        """A check that is about both worker clusters."""
        names = {name: f"{self.namespace}-{name}" for name in self.workers}
        for name, full in names.items():
            source = {"kubeConfig": {"location": str(self._files[name]), "locationType": "Path"}}
            await self._apply(MULTI_KUEUE_CLUSTERS, full, {"clusterSource": source})
        await self._apply(MULTI_KUEUE_CONFIGS, self.namespace, {"clusters": list(names.values())})
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": self.namespace}
        check = {"controllerName": "rayward.dev/multicluster", "parameters": parameters}
        await self._apply(ADMISSION_CHECKS, self.namespace, check)

    def worker(self, name: str) -> str:
        """The name of a worker cluster's MultiKueueCluster."""
        return f"{self.namespace}-{name}"

    async def quota(self, here: Any, east: Any = 0, west: Any = 0, **spec: Any) -> None:
        """CPUs of the queues: on the manager cluster, and on the worker clusters."""
        await self.queue(here, **spec)
        await self.east.queue(east, **spec)
        await self.west.queue(west, **spec)

    async def queue(self, cpu: Any, **spec: Any) -> None:
        """The manager's queue; what it admits passes the check."""
        strategy = {"admissionChecks": [{"name": self.namespace}]}
        body = {
            "namespaceSelector": {},
            "resourceGroups": groups({FLAVOR: {"cpu": cpu, "memory": "100Gi"}}),
            "admissionChecksStrategy": strategy,
            **spec,
        }
        await self._apply(CLUSTER_QUEUES, self.namespace, body)
        await self._apply(LOCAL_QUEUES, "q", {"clusterQueue": self.namespace}, self.namespace)

    async def lose(self, name: str) -> None:
        """Nobody answers at the address of a worker cluster."""
        nowhere = self._files[name].with_suffix(".nowhere")
        nowhere.write_text(_NOWHERE)
        source = {"kubeConfig": {"location": str(nowhere), "locationType": "Path"}}
        await self._apply(MULTI_KUEUE_CLUSTERS, self.worker(name), {"clusterSource": source})

    async def find(self, name: str) -> None:
        """It answers again."""
        source = {"kubeConfig": {"location": str(self._files[name]), "locationType": "Path"}}
        await self._apply(MULTI_KUEUE_CLUSTERS, self.worker(name), {"clusterSource": source})

    @asynccontextmanager
    async def running(self, client: Client | None = None) -> AsyncGenerator[None]:
        """Everything that runs: the manager's engine and dispatcher, and both worker clusters."""
        async with self.east.operator(), self.west.operator(), self.dispatcher(client):
            yield

    @asynccontextmanager
    async def dispatcher(self, client: Client | None = None) -> AsyncGenerator[None]:
        """The process of the manager cluster alone."""
        client = client or self.client
        recorder = EventRecorder(client, "rayward-operator")
        entries = [multicluster.registration(self.queueing, RAY_SERVICES_WHOLE)]
        if self.queueing is EMBEDDED:
            entries.append(engine.REGISTRATION)
        made = Manager(client, entries, recorder=recorder, metrics=Metrics(CollectorRegistry()), workers=WORKERS)
        async with running(made.run, recorder.run):
            yield

    async def create(self, **spec: Any) -> Object:
        """A RayService that is to run on a worker cluster."""
        body = queued_service(managedBy=MANAGED_BY, rayClusterDeletionDelaySeconds=0, **spec)
        return await self.client.create(RAY_SERVICES, body, self.namespace)

    async def edit(self, **spec: Any) -> None:
        """Change fields of its spec."""
        change = [{"op": "add", "path": f"/spec/{field}", "value": value} for field, value in spec.items()]
        await self.client.patch(RAY_SERVICES, NAME, change, PatchType.JSON, self.namespace)

    async def upgrade(self, image: str, **more: Any) -> None:
        """Another image: a new RayCluster."""
        await self.edit(rayClusterConfig=release(image=image, **more))

    async def annotate(self, **annotations: str | None) -> None:
        """Set annotations of ours, by their last word."""
        named = {f"rayward.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        change = {"metadata": {"annotations": named}}
        await self.client.patch(RAY_SERVICES, NAME, change, PatchType.MERGE, self.namespace)

    async def service(self) -> Object:
        return await self.client.get(RAY_SERVICES, NAME, self.namespace)

    async def claims(self) -> list[Object]:
        """Workloads of the manager cluster that are not finished."""
        found = (await self.client.list(WORKLOADS, self.namespace)).items
        return [one for one in found if condition(one, "Finished").get("status") != "True"]

    async def held(self) -> int:
        """Pods that claims of the manager cluster have quota for."""
        reserved = [one for one in await self.claims() if condition(one, "QuotaReserved").get("status") == "True"]
        return sum(_pods(one) for one in reserved if one["metadata"]["name"] != _URGENT)

    async def until_held(self, pods: int) -> None:
        async def holds() -> bool:
            return await self.held() == pods

        await self.east.eventually(holds)

    async def until_asked(self, pods: int) -> None:
        """Wait until the only claim that waits asks for so many."""

        async def holds() -> bool:
            waiting = [one for one in await self.claims() if condition(one, "QuotaReserved").get("status") != "True"]
            return [_pods(one) for one in waiting] == [pods]

        await self.east.eventually(holds)

    async def until_urgent_is_admitted(self) -> None:
        async def holds() -> bool:
            found = await self.client.get(WORKLOADS, _URGENT, self.namespace)
            return condition(found, "QuotaReserved").get("status") == "True"

        await self.east.eventually(holds)

    async def until_remote_replicas(self, worker: GateStage, replicas: int) -> None:
        """Wait until the only RayCluster of a worker cluster asks for so many workers."""

        async def holds() -> bool:
            found = [one["spec"]["workerGroupSpecs"][0]["replicas"] for one in await worker.clusters()]
            return found == [replicas]

        await worker.eventually(holds)

    async def remote_image(self, worker: GateStage) -> str:
        """The image of the RayService of a worker cluster; empty where there is none."""
        try:
            found = await worker.service()
        except NotFound:
            return ""
        head = found["spec"]["rayClusterConfig"]["headGroupSpec"]
        return head["template"]["spec"]["containers"][0]["image"].removeprefix("rayproject/ray:")

    async def until_told(self, status: str, reason: str = "", message: str = "") -> Object:
        """Wait for condition QuotaReserved of the manager's RayService."""
        found: Object = {}

        async def holds() -> bool:
            nonlocal found
            whole = await self.service()
            found = condition(whole, "QuotaReserved")
            here = found.get("observedGeneration") == whole["metadata"]["generation"]
            told = found.get("status") == status and reason in ("", found.get("reason"))
            return here and told and message in found.get("message", "")

        await self.east.eventually(holds)
        return found

    async def until_done(self, image: str, worker: GateStage) -> None:
        """Wait until the manager's RayService says that its generation is true."""

        async def holds() -> bool:
            whole = await self.service()
            status = whole.get("status") or {}
            ready = condition(whole, "Ready")
            return (
                status.get("observedGeneration") == whole["metadata"]["generation"]
                and ready.get("status") == "True"
                and ready.get("observedGeneration") == whole["metadata"]["generation"]
                and len(await self.claims()) == 1
                and len(await worker.workloads()) == 1
                and await self.remote_image(worker) == image
            )

        await worker.eventually(holds)

    async def _apply(self, resource: Resource, name: str, spec: Object, namespace: str = "") -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        await self.client.apply(resource, body, field_manager="tests", force=True)


def _pods(workload: Object) -> int:
    return sum(one["count"] for one in workload["spec"]["podSets"])


async def _prepared(stack: AsyncExitStack, access: Access, stage: type[GateStage]) -> Client:
    client = await stack.enter_async_context(Client.connect(access))
    await install(client)
    await stage.install(client)
    return client


def priority_workload(namespace: str, cpu: int) -> Object:
    """Somebody else's demand, more urgent than any other."""
    container = {"name": "main", "image": "other", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": _URGENT, "namespace": namespace, "labels": {labels.ROLE: "other"}},
        "spec": {"queueName": "q", "priority": 100, "podSets": [{"name": "main", "count": 1, "template": template}]},
    }


_NOWHERE: Final = """apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere}}]
current-context: nowhere
"""
