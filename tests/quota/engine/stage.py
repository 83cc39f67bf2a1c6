"""A namespace of a server with queues of its own, and engines that come and go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final, Self

import msgspec
from prometheus_client import CollectorRegistry

from rayward.kinds import crds
from rayward.kinds.kueue import Workload, names
from rayward.kinds.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Conflict
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, NAMESPACES, Resource
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.registry import Environment, Running
from rayward.quota.engine import REGISTRATION, EngineReconciler, EngineSettings
from tests.operator.stage import running
from tests.quota.engine.building import groups, pod_set

PATIENCE: Final = 150.0
_VERSION: Final = "kueue.x-k8s.io/v1beta2"
FLAVOR: Final = "default-flavor"

Object = dict[str, Any]


async def install(client: Client) -> None:
    """Kueue's kinds and one flavor, once for a server."""
    for manifest in crds.manifests(crds.QUEUEING_PLURALS):
        await client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="tests", force=True)
    await add_first_flavor(client)


async def add_first_flavor(client: Client) -> None:
    """The flavor, once the server serves kinds that were just defined."""
    async with asyncio.timeout(PATIENCE):
        for resource in (CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS):
            while True:
                with suppress(ApiError):
                    await client.page(resource, limit=1)
                    break
                await asyncio.sleep(0.05)
    await add_flavor(client)


async def add_flavor(client: Client) -> None:
    """The flavor of all queues."""
    body = {"apiVersion": _VERSION, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}}
    await client.apply(RESOURCE_FLAVORS, body, field_manager="tests", force=True)


class QuotaStage:
    """Queues are named after the namespace, so that tests do not meet on one server."""

    def __init__(self, client: Client, access: Access, namespace: str) -> None:
        self.client = client
        self.access = access
        self.namespace = namespace

    @classmethod
    @asynccontextmanager
    async def on(cls, access: Access, *, kinds: bool = False) -> AsyncGenerator[Self]:
        """``kinds`` are there already, as somebody else installed them."""
        async with Client.connect(access) as client:
            await (add_first_flavor(client) if kinds else install(client))
            name = f"quota-{random.randrange(10**9):x}"
            await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            made = cls(client, access, name)
            yield made
            for resource in (CLUSTER_QUEUES, COHORTS, RESOURCE_FLAVORS):
                for found in (await client.list(resource)).items:
                    if found["metadata"]["name"].startswith(name):
                        await client.delete(resource, found["metadata"]["name"])
        for _ in range(20):
            await asyncio.sleep(0)

    @asynccontextmanager
    async def engine(
        self, client: Client | None = None, settings: EngineSettings | None = None
    ) -> AsyncGenerator[Manager]:
        """An engine, over all namespaces, as it always is."""
        client = client or self.client
        recorder = EventRecorder(client, "rayward-quota")

        def build(environment: Environment, metrics: Any) -> Running:
            return EngineReconciler(environment, metrics, settings)

        entry = replace(REGISTRATION, build=build)
        manager = Manager(client, [entry], None, recorder=recorder, metrics=Metrics(CollectorRegistry()), workers=16)
        async with running(manager.run, recorder.run):
            yield manager

    def queue_name(self, name: str) -> str:
        return f"{self.namespace}-{name}"

    async def queue(self, name: str = "q", cpu: Any = 6, cohort: str = "", **spec: Any) -> None:
        """A ClusterQueue and the LocalQueue of the same name."""
        full = self.queue_name(name)
        body: Object = {
            "apiVersion": _VERSION,
            "kind": "ClusterQueue",
            "metadata": {"name": full},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": groups({FLAVOR: {"cpu": cpu}}),
                **({"cohortName": self.queue_name(cohort)} if cohort else {}),
                **spec,
            },
        }
        await self.client.apply(CLUSTER_QUEUES, body, field_manager="tests", force=True)
        local: Object = {
            "apiVersion": _VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"clusterQueue": full},
        }
        await self.client.apply(LOCAL_QUEUES, local, field_manager="tests", force=True)

    async def ask(
        self, name: str, cpu: Any = 1, queue: str = "q", priority: int = 0, count: int = 1, replaces: str = ""
    ) -> None:
        """A Workload."""
        made = pod_set("main", count, {"cpu": str(cpu)})
        made["template"]["spec"] |= {"containers": [{"image": "i", **made["template"]["spec"]["containers"][0]}]}
        made["template"]["spec"]["restartPolicy"] = "Never"
        annotations = {names.ELASTIC_JOB: "true"}
        if replaces:
            annotations[names.SLICE_REPLACEMENT_FOR] = f"{self.namespace}/{replaces}"
        meta: Object = {"name": name, "namespace": self.namespace, "annotations": annotations}
        body = {
            "apiVersion": _VERSION,
            "kind": "Workload",
            "metadata": meta,
            "spec": {"queueName": queue, "priority": priority, "podSets": [made]},
        }
        await self.client.create(WORKLOADS, body, self.namespace)

    async def workload(self, name: str) -> Workload:
        return msgspec.convert(await self.client.get(WORKLOADS, name, self.namespace), Workload)

    async def workloads(self) -> dict[str, Workload]:
        found = (await self.client.list(WORKLOADS, self.namespace)).items
        return {one["metadata"]["name"]: msgspec.convert(one, Workload) for one in found}

    async def set_condition(self, name: str, kind: str, value: bool, reason: str = "ByTest") -> None:
        """As whoever runs the pods would: with everything else of the status as it is."""
        while True:
            found = await self.client.get(WORKLOADS, name, self.namespace)
            conditions = [one for one in found.get("status", {}).get("conditions", []) if one["type"] != kind]
            conditions.append(
                {
                    "type": kind,
                    "status": "True" if value else "False",
                    "reason": reason,
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            )
            found.setdefault("status", {})["conditions"] = conditions
            if kind == "QuotaReserved" and not value:
                found["status"].pop("admission", None)
            with suppress(Conflict):
                await self.client.update(WORKLOADS, found, subresource="status")
                return

    async def finish(self, name: str) -> None:
        await self.set_condition(name, "Finished", True, "Succeeded")

    async def stopped(self, name: str) -> None:
        """The pods of an evicted workload are gone."""
        await self.set_condition(name, "QuotaReserved", False, "Pending")

    async def patch(self, resource: Resource, name: str, change: Object) -> None:
        namespace = self.namespace if resource.namespaced else None
        await self.client.patch(resource, name, change, PatchType.MERGE, namespace)

    async def events(self, name: str) -> set[str]:
        found = (await self.client.list(EVENTS, self.namespace)).items
        return {one["reason"] for one in found if one["involvedObject"]["name"] == name}

    async def admitted(self) -> set[str]:
        return {name for name, one in (await self.workloads()).items() if one.admitted and not one.finished}

    async def until_admitted(self, *names: str) -> None:
        await self.until(lambda: self._are_admitted(set(names)))

    async def _are_admitted(self, names: set[str]) -> bool:
        return await self.admitted() == names

    async def until_condition(self, name: str, kind: str, value: bool = True) -> Workload:
        async def holds() -> bool:
            condition = (await self.workload(name)).condition(kind)
            return condition is not None and condition.status == ("True" if value else "False")

        await self.until(holds)
        return await self.workload(name)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not await holds():  # noqa: ASYNC110 - what holds is on a server
                    await asyncio.sleep(0.05)
        except TimeoutError:
            shown = {name: one.status for name, one in (await self.workloads()).items()}
            raise AssertionError(f"it did not become so; there is {shown}") from None


async def until_kueue_read(client: Client, queue: str) -> None:
    """Wait until Kueue knows a ClusterQueue as it is now: it reads queues and Workloads in no order."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await client.get(CLUSTER_QUEUES, queue)
            conditions = found.get("status", {}).get("conditions", [])
            if any(one.get("observedGeneration") == found["metadata"]["generation"] for one in conditions):
                return
            await asyncio.sleep(0.05)


class KueueQuotaStage(QuotaStage):
    """The same where Kueue's own manager admits, which is there already."""

    async def queue(self, name: str = "q", cpu: Any = 6, cohort: str = "", **spec: Any) -> None:
        await super().queue(name, cpu, cohort, **spec)
        await until_kueue_read(self.client, self.queue_name(name))

    async def stopped(self, name: str) -> None:
        """Its reconciler of jobs clears both conditions (UnsetQuotaReservationWithCondition in pkg/workload)."""
        await super().stopped(name)
        await self.set_condition(name, "Admitted", False, "NoReservation")
