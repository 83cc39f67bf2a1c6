"""Queues, the gate, whoever admits and the operator on one server, with simulated Ray and a simulated kubelet."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self

import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds import labels
from rayward.kinds.admission import Admission, Queueing
from rayward.kinds.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    RAY_CLUSTERS,
    RAY_JOBS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS, Resource
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.registry import Environment, Registration, Running
from rayward.operator.base.writing import WORKERS
from rayward.operator.registry import registrations
from rayward.quota import engine, gate
from rayward.quota.engine.lifecycle import PodsReady
from rayward.stack.composition import SHARED
from tests.operator.ray.jobs import Script
from tests.operator.ray.simulated import SimulatedHead
from tests.operator.service.heads import PodHeads
from tests.operator.service.stage import ServiceStage, cluster_config, service
from tests.operator.stage import condition, running, template
from tests.quota.engine.building import groups
from tests.quota.engine.stage import add_flavor, until_kueue_read
from tests.quota.engine.stage import install as install_queues

FLAVOR: Final = "default-flavor"
_AT: Final = "2026-01-01T00:00:00Z"
EMBEDDED: Final = Queueing(Admission.EMBEDDED)
KUEUE: Final = Queueing(Admission.KUEUE)

_kube = pytest.mark.kube
ENGINES: Final = (
    pytest.param("embedded", id="embedded"),
    pytest.param("kueue", id="kueue", marks=_kube),
)
"""The embedded engine on the embedded server, and Kueue on a real one."""
ON_ALL: Final = (*ENGINES, pytest.param("real", id="real", marks=_kube))
"""The embedded engine on a real server, too."""
HERE_TOO: Final = (*ON_ALL, pytest.param("kueue_here", id="kueue-on-embedded", marks=_kube))
"""Kueue on the embedded server, too."""
WITH_DEFAULT: Final = (*ENGINES, pytest.param("kueue_default", id="kueue-default-queue", marks=_kube))
"""Kueue on a real server with a LocalQueue named ``default``, too: for what happens to a RayService alone."""
KUEUE_ONLY: Final = ENGINES[1:]
KUEUE_ON_BOTH: Final = (ENGINES[1], HERE_TOO[-1])

Object = dict[str, Any]

_ENTRYPOINT: Final = "python train.py"


class _Busy(PodHeads):
    """Heads whose jobs run until they are stopped: one that has ended can neither be preempted nor edited."""

    def find(self, place: Any) -> SimulatedHead:
        head = super().find(place)
        head.scripts[_ENTRYPOINT] = Script(run_seconds=None)
        return head


class GateStage(ServiceStage):
    """One namespace with a ClusterQueue of its own, and a LocalQueue ``q``; the embedded engine admits."""

    queueing: Queueing = EMBEDDED
    pods_ready: PodsReady | None = None
    """How long the embedded engine waits for pods; None for ever."""

    def __init__(self, client: Client, access: Access, namespace: str) -> None:
        super().__init__(client, access, namespace)
        self.heads = self.reach = _Busy()

    @classmethod
    async def install(cls, client: Client) -> None:
        """Kueue's kinds and a flavor."""
        await install_queues(client)

    @classmethod
    @asynccontextmanager
    async def on(cls, access: Access) -> AsyncGenerator[Self]:
        async with Client.connect(access) as client:
            await cls.install(client)
        async with super().on(access) as made:
            yield made
            with suppress(NotFound):  # a test of what is refused never had it
                await made.client.delete(CLUSTER_QUEUES, made.namespace)

    @asynccontextmanager
    async def operator(
        self, client: Client | None = None, registry: CollectorRegistry | None = None
    ) -> AsyncGenerator[Manager]:
        """Operator and gate in this namespace, the engine over all."""
        client = client or self.client
        recorder = EventRecorder(client, "rayward-operator")
        ours = [*registrations(self.reach, self.queueing), gate.registration(self.queueing, SHARED)]
        measured = Metrics(registry or CollectorRegistry())
        made = Manager(client, ours, self.namespace, recorder=recorder, metrics=measured, workers=WORKERS)
        works = [made.run, recorder.run]
        if self.queueing.admission is Admission.EMBEDDED:
            nobody = Metrics(CollectorRegistry())
            admits = Manager(client, [self._engine()], recorder=recorder, metrics=nobody, workers=WORKERS)
            works.append(admits.run)
        async with running(*works):
            yield made

    @asynccontextmanager
    async def operator_alone(self) -> AsyncGenerator[None]:
        """The operator in this namespace, where neither a gate nor an engine of ours runs."""
        recorder = EventRecorder(self.client, "rayward-operator")
        ours = registrations(self.reach, self.queueing)
        measured = Metrics(CollectorRegistry())
        made = Manager(self.client, ours, self.namespace, recorder=recorder, metrics=measured, workers=WORKERS)
        async with running(made.run, recorder.run):
            yield

    def _engine(self) -> Registration:
        settings = engine.EngineSettings(pods_ready=self.pods_ready)

        def build(environment: Environment, metrics: Any) -> Running:
            return engine.EngineReconciler(environment, metrics, settings)

        return dataclasses.replace(engine.REGISTRATION, build=build)

    async def queue(self, cpu: Any, **spec: Any) -> None:
        """The ClusterQueue has so much; made, or changed."""
        body: Object = {
            "apiVersion": CLUSTER_QUEUES.api_version,
            "kind": "ClusterQueue",
            "metadata": {"name": self.namespace},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": groups({FLAVOR: {"cpu": cpu, "memory": "100Gi"}}),
                **spec,
            },
        }
        await self.client.apply(CLUSTER_QUEUES, body, field_manager="tests", force=True)
        local: Object = {
            "apiVersion": LOCAL_QUEUES.api_version,
            "kind": "LocalQueue",
            "metadata": {"name": "q", "namespace": self.namespace},
            "spec": {"clusterQueue": self.namespace},
        }
        await self.client.apply(LOCAL_QUEUES, local, field_manager="tests", force=True)

    async def add_check(self, controller: str = "tests.rayward.dev/check") -> None:
        """An AdmissionCheck of a controller that is at work, by default the test."""
        body: Object = {
            "apiVersion": ADMISSION_CHECKS.api_version,
            "kind": ADMISSION_CHECKS.kind,
            "metadata": {"name": self.namespace},
            "spec": {"controllerName": controller},
        }
        await self.client.create(ADMISSION_CHECKS, body)
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": _AT}
        change = {"status": {"conditions": [active]}}
        await self.client.patch(ADMISSION_CHECKS, self.namespace, change, PatchType.MERGE, subresource="status")

    async def answer_check(self, cluster: str, answer: str) -> None:
        """The check of a cluster's only Workload has a result."""
        name = (await self.workload_of(cluster))["metadata"]["name"]
        check = {"name": self.namespace, "state": answer, "message": "", "lastTransitionTime": _AT}
        body: Object = {
            "apiVersion": WORKLOADS.api_version,
            "kind": WORKLOADS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "status": {"admissionChecks": [check]},
        }
        await self.client.apply(WORKLOADS, body, field_manager="check", force=True, subresource="status")

    async def priority(self, name: str, value: int) -> None:
        """A WorkloadPriorityClass."""
        body: Object = {
            "apiVersion": WORKLOAD_PRIORITY_CLASSES.api_version,
            "kind": WORKLOAD_PRIORITY_CLASSES.kind,
            "metadata": {"name": name},
            "value": value,
        }
        await self.client.apply(WORKLOAD_PRIORITY_CLASSES, body, field_manager="tests", force=True)

    async def create_cluster(self, name: str, cpu: Any = 1, groups: list[Object] | None = None, **more: Any) -> Object:
        """A RayCluster in the queue."""
        body = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": name, "labels": {labels.QUEUE_NAME: "q", **more.pop("labels", {})}},
            "spec": {
                "rayVersion": "2.52.0",
                "headGroupSpec": {"rayStartParams": {}, "template": sized(cpu)},
                "workerGroupSpecs": groups or [],
                **more,
            },
        }
        return await self.client.create(RAY_CLUSTERS, body, self.namespace)

    async def create_job(self, name: str, head: Any, mode: str = "HTTPMode") -> Object:
        """A RayJob in the queue; by default the operator itself submits its entrypoint."""
        body = {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "metadata": {"name": name, "labels": {labels.QUEUE_NAME: "q"}},
            "spec": {
                "entrypoint": _ENTRYPOINT,
                "submissionMode": mode,
                "shutdownAfterJobFinishes": True,
                "rayClusterSpec": release(head),
            },
        }
        return await self.client.create(RAY_JOBS, body, self.namespace)

    async def _scene(self) -> list[Any]:
        """Besides clusters and pods, who holds or asks for quota, and for which job."""
        workloads = [
            (one["metadata"], {each["type"]: (each["status"], each["reason"]) for each in one["status"]["conditions"]})
            for one in await self.objects(WORKLOADS)
            if one.get("status", {}).get("conditions")
        ]
        jobs = [(one["metadata"], one["spec"].get("suspend"), one.get("status")) for one in await self.objects(RAY_JOBS)]
        return [*await super()._scene(), *workloads, *jobs]

    async def until_workload_pods(self, job: str, count: int) -> None:
        """Wait until so many pods of a RayJob's clusters run."""

        async def holds() -> bool:
            found = [pod for pod in await self.pods() if pod["metadata"]["labels"][labels.CLUSTER].startswith(job)]
            return len(found) == count

        await self.eventually(holds)

    async def until_job_waits(self, job: str) -> None:
        """Wait until a RayJob has a cluster that waits for quota, and the gate's suspension is over."""

        async def holds() -> bool:
            found = await self.client.get(RAY_JOBS, job, self.namespace)
            clusters = [one for one in await self.clusters() if one["metadata"]["name"].startswith(job)]
            waits = [condition(one, "QuotaReserved").get("status") for one in clusters] == ["False"]
            return waits and not found["spec"].get("suspend")

        await self.eventually(holds)

    async def workloads(self, cluster: str = "") -> list[Object]:
        """Workloads that are not finished, of one cluster or all."""
        found = [one for one in await self.objects(WORKLOADS) if condition(one, "Finished").get("status") != "True"]
        named = [one for one in found if not cluster or one["metadata"]["labels"].get(labels.CLUSTER) == cluster]
        return sorted(named, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))

    async def workloads_of_gate(self) -> list[Object]:
        """Those that the gate made, not Kueue's own integrations."""
        return [one for one in await self.objects(WORKLOADS) if labels.CLUSTER_UID in one["metadata"].get("labels", {})]

    async def pods_of(self, cluster: str) -> list[Object]:
        """Pods of one RayCluster, terminating ones too."""
        return [pod for pod in await self.objects(PODS) if pod["metadata"]["labels"].get(labels.CLUSTER) == cluster]

    async def until_pods_of(self, cluster: str, count: int) -> None:
        """Wait for so many pods."""

        async def holds() -> bool:
            return len(await self.pods_of(cluster)) == count

        await self.eventually(holds)

    async def until_next_second(self) -> None:
        """Times of objects are whole seconds: wait until what happens next is later than what happened before."""
        begun = int(time.time())

        async def holds() -> bool:
            return int(time.time()) > begun

        await self.eventually(holds)

    async def until_quota(self, cluster: str, status: str, reason: str = "", message: str = "") -> Object:
        """Wait for the condition of a RayCluster, and give it back."""
        found: Object = {}

        async def holds() -> bool:
            nonlocal found
            found = condition(await self.cluster(cluster), "QuotaReserved")
            said = found.get("status") == status and reason in ("", found.get("reason"))
            return said and message in found.get("message", "")

        await self.eventually(holds)
        return found

    async def until_no_workloads(self) -> None:
        """Wait until nobody holds or asks for anything."""

        async def holds() -> bool:
            return not await self.objects(WORKLOADS)

        await self.eventually(holds)

    async def until_deleted(self, resource: Resource, name: str) -> None:
        """Wait until there is no such object of the cluster."""

        async def holds() -> bool:
            with suppress(NotFound):
                await self.client.get(resource, name)
                return False
            return True

        await self.eventually(holds)

    async def used(self) -> float:
        """CPUs of all pods that exist."""
        return float(sum(cpus(pod) for pod in await self.objects(PODS)))

    @asynccontextmanager
    async def within(self, cpu: float) -> AsyncGenerator[None]:
        """At no moment of the block do pods use more."""

        async def watch() -> None:
            while True:
                assert await self.used() <= cpu
                await asyncio.sleep(0.05)

        async with running(watch):
            yield

    async def workload_of(self, cluster: str) -> Object:
        """Its only Workload that is not finished."""
        (found,) = await self.workloads(cluster)
        return found

    async def until_workload(self, cluster: str, kind: str, status: str, reason: str = "") -> Object:
        """Wait for a condition of a cluster's only Workload, and give the Workload back."""
        found: list[Object] = []

        async def holds() -> bool:
            nonlocal found
            found = await self.workloads(cluster)
            seen = condition(found[0], kind) if len(found) == 1 else {}
            return seen.get("status") == status and reason in ("", seen.get("reason"))

        await self.eventually(holds)
        return found[0]

    async def upgrade_paused(self, **edit: Any) -> str:
        """Edit the release and keep it from getting requests; the name of the new cluster."""
        before = await self.names()
        await self.annotate(pause="true")
        await self.until_next_second()
        await self.edit(rayClusterConfig=release(**edit))
        (new,) = await self.until_names(lambda names: len(names - before) == 1) - before
        return new

    async def scale(self, cluster: str, replicas: int, group: int = 0) -> None:
        """Set the replicas of a worker group, as an autoscaler does."""
        change = [{"op": "replace", "path": f"/spec/workerGroupSpecs/{group}/replicas", "value": replicas}]
        await self.client.patch(RAY_CLUSTERS, cluster, change, PatchType.JSON, self.namespace)

    async def add_default_queue(self) -> None:
        """A LocalQueue named ``default``: where Kueue admits, it labels every new Ray object from now on.

        It would label every new Pod, too, and ask quota for it by itself. It is of the same ClusterQueue as ``q``, so
        that a pod of ours that is counted twice has no room.
        """
        local: Object = {
            "apiVersion": LOCAL_QUEUES.api_version,
            "kind": LOCAL_QUEUES.kind,
            "metadata": {"name": "default", "namespace": self.namespace},
            "spec": {"clusterQueue": self.namespace},
        }
        await self.client.create(LOCAL_QUEUES, local, self.namespace)

        async def is_seen() -> bool:
            found = await self.client.get(LOCAL_QUEUES, "default", self.namespace)
            return condition(found, "Active").get("status") == "True"

        await self.eventually(is_seen)


class KueueStage(GateStage):
    """The same where Kueue's own manager admits, which is there already, with its kinds."""

    queueing = KUEUE

    @classmethod
    async def install(cls, client: Client) -> None:
        await add_flavor(client)

    async def queue(self, cpu: Any, **spec: Any) -> None:
        await super().queue(cpu, **spec)
        await until_kueue_read(self.client, self.namespace)


class KueueWithDefaultStage(KueueStage):
    """Kueue, where a LocalQueue named ``default`` appears once the service of the test is there.

    Objects of before are ours. Kueue takes every new one for its own but those of a RayService
    (ApplyDefaultLocalQueue in pkg/controller/jobframework/defaults.go, Kueue v0.18.2).
    """

    async def create(self, manifest: Object) -> Object:
        made = await super().create(manifest)
        await self.add_default_queue()
        return made


def sized(cpu: Any, image: str = "rayproject/ray:1") -> Object:
    """A pod template that asks for CPUs."""
    made = template(image=image)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpu)}}
    return made


def group(name: str = "w", replicas: int = 2, cpu: Any = 1, **more: Any) -> Object:
    """A worker group."""
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        "template": sized(cpu),
        **more,
    }


def queued_service(
    head: Any = 1, image: str = "rayproject/ray:1", groups: list[Object] | None = None, **more: Any
) -> Object:
    """A RayService in the queue."""
    metadata = {"labels": {labels.QUEUE_NAME: "q"}, "annotations": more.pop("metadata_annotations", {})}
    return service(release(head, image, groups), metadata=metadata, **more)


def release(head: Any = 1, image: str = "rayproject/ray:1", groups: list[Object] | None = None) -> Object:
    """The cluster of a release."""
    made = cluster_config(image, groups)
    made["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(head)}}
    return made


def cpus(pod: Object) -> float:
    """What a pod asks for."""
    asked = [one.get("resources", {}).get("requests", {}).get("cpu", "0") for one in pod["spec"]["containers"]]
    return sum(float(each[:-1]) / 1000 if each.endswith("m") else float(each) for each in asked)
