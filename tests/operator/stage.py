"""A server, a simulated kubelet and our operator on it, for the length of one test."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self

from prometheus_client import CollectorRegistry

from rayward.kinds import labels
from rayward.kinds.crds import manifests
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, ApiError
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    Resource,
)
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.registry import Registration
from rayward.operator.base.writing import WORKERS
from rayward.operator.ray.reach import NoReach, Reach
from rayward.operator.registry import registrations
from tests.operator.insides import insides
from tests.operator.kubelet import NODE, Kubelet, add_node

PATIENCE: Final = 150.0
GROUPS: Final = "/spec/workerGroupSpecs"
_AT: Final = "2026-01-01T00:00:00Z"

Object = dict[str, Any]


@asynccontextmanager
async def running(*works: Callable[[], Awaitable[Any]]) -> AsyncGenerator[None]:
    """Let works go on beside the block; one that fails fails the block."""
    tasks = [asyncio.ensure_future(work()) for work in works]
    try:
        try:
            yield
        finally:
            # first of all: what the block waited for in vain may have ended with it
            for task in tasks:
                if task.done():
                    task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def install(client: Client) -> None:
    """What every server of these tests needs, once: Ray's kinds and a node."""
    with suppress(ApiError):
        await _serves(client)
        await client.get(NODES, NODE)
        return
    for manifest in manifests():
        await client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="tests", force=True)
    await add_node(client)
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(ApiError):
                await _serves(client)
                return
            await asyncio.sleep(0.05)


async def _serves(client: Client) -> None:
    """A server begins to serve kinds one after the other."""
    for resource in (RAY_CLUSTERS, RAY_SERVICES):
        await client.page(resource, limit=1)


def fresh_name() -> str:
    """Of a namespace that nobody has."""
    return f"ray-{random.randrange(10**9):x}"


class Stage:
    """One namespace of a server, with a kubelet; operators come and go."""

    reach: Reach = NoReach()
    """How operators here come to Ray's dashboards; RayServices need it."""
    compose: Callable[[Reach], Sequence[Registration]] = staticmethod(registrations)
    """The entries of their process."""

    def __init__(self, client: Client, access: Access, namespace: str) -> None:
        self.client = client
        self.access = access
        self.namespace = namespace
        self.kubelet = Kubelet(client, namespace)

    @classmethod
    @asynccontextmanager
    async def on(cls, access: Access) -> AsyncGenerator[Self]:
        """A fresh namespace on a server."""
        async with Client.connect(access) as client:
            await install(client)
            async with cls.among(client, access) as made:
                yield made
        # A connection whose opening was cancelled closes in later turns of the loop, which is about to end.
        for _ in range(20):
            await asyncio.sleep(0)

    @classmethod
    @asynccontextmanager
    async def among(cls, client: Client, access: Access, name: str = "") -> AsyncGenerator[Self]:
        """A fresh namespace, beside others, on a server that has all the rest."""
        name = name or fresh_name()
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # Until it is there every pod is refused.
        with suppress(AlreadyExists):
            await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})
        made = cls(client, access, name)
        async with running(made.kubelet.run):
            yield made

    @asynccontextmanager
    async def operator(
        self, client: Client | None = None, registry: CollectorRegistry | None = None
    ) -> AsyncGenerator[Manager]:
        """Our operator, watching this namespace."""
        client = client or self.client
        recorder = EventRecorder(client, "rayward-operator")
        manager = Manager(
            client,
            self.compose(self.reach),
            self.namespace,
            recorder=recorder,
            metrics=Metrics(registry or CollectorRegistry()),
            workers=WORKERS,
        )
        async with running(manager.run, recorder.run):
            yield manager

    async def create(self, manifest: Object) -> Object:
        """A RayCluster."""
        return await self.client.create(RAY_CLUSTERS, manifest, self.namespace)

    async def cluster(self, name: str = "plain") -> Object:
        """A RayCluster as it is."""
        return await self.client.get(RAY_CLUSTERS, name, self.namespace)

    async def patch(self, change: Object | list[Any], name: str = "plain") -> Object:
        """Edit a RayCluster."""
        kind = PatchType.JSON if isinstance(change, list) else PatchType.MERGE
        return await self.client.patch(RAY_CLUSTERS, name, change, kind, self.namespace)

    async def objects(self, resource: Resource) -> list[Object]:
        """All objects of one collection."""
        return (await self.client.list(resource, self.namespace)).items

    async def pods(self, group: str | None = None) -> list[Object]:
        """The live pods, of one group (``headgroup`` is the head's) or all."""
        found = [pod for pod in await self.objects(PODS) if "deletionTimestamp" not in pod["metadata"]]
        return [pod for pod in found if group is None or pod["metadata"]["labels"].get(labels.GROUP) == group]

    async def eventually(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something is so."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not await holds():  # noqa: ASYNC110 - what holds is on a server
                    await asyncio.sleep(0.1)
        except TimeoutError:
            told = "\n".join(insides())
            raise AssertionError(f"it did not become so; there is {await self._scene()}\n{told}") from None

    async def _scene(self) -> list[Any]:
        clusters = [(found["metadata"], found.get("status")) for found in await self.objects(RAY_CLUSTERS)]
        pods = [
            (found["metadata"]["name"], found["metadata"].get("deletionTimestamp"))
            for found in await self.objects(PODS)
        ]
        return [*clusters, *pods]

    async def until_state(self, state: str, name: str = "plain", generation: int | None = None) -> Object:
        """Wait for a state of this generation, and give back the cluster."""

        async def holds() -> bool:
            found = await self.cluster(name)
            status = found.get("status") or {}
            wanted = found["metadata"]["generation"] if generation is None else generation
            return status.get("state") == state and status.get("observedGeneration") == wanted

        await self.eventually(holds)
        return await self.cluster(name)

    async def until_pods(self, count: int, name: str = "plain") -> None:
        """Wait until so many live pods are ready and no other is left, and the status says so."""

        async def holds() -> bool:
            pods = await self.objects(PODS)
            cluster = await self.cluster(name)
            status = cluster.get("status") or {}
            ready = condition(cluster, "Ready")
            return (
                len(pods) == count
                and all("deletionTimestamp" not in pod["metadata"] for pod in pods)
                and status.get("observedGeneration") == cluster["metadata"]["generation"]
                and ready.get("status") == "True"
                and status.get("readyWorkerReplicas", 0) == count - 1
            )

        await self.eventually(holds)

    async def until_gone(self, pods: set[str]) -> None:
        """Wait until no pod with one of these uids is left."""

        async def holds() -> bool:
            return not pods & uids(await self.objects(PODS))

        await self.eventually(holds)

    async def until_condition(self, kind: str, **wanted: str) -> Object:
        """Wait until a cluster's condition has these members, and give it back."""
        found: Object = {}

        async def holds() -> bool:
            nonlocal found
            found = condition(await self.cluster(), kind)
            return wanted.items() <= found.items()

        await self.eventually(holds)
        return found

    async def until_reasons(self, *reasons: str) -> None:
        """Wait until there were events with these reasons."""

        async def told() -> bool:
            return {event["reason"] for event in await self.objects(EVENTS)} >= set(reasons)

        await self.eventually(told)

    async def finish(self, job: str) -> None:
        """A Job ends well."""
        done = [
            {"type": kind, "status": "True", "lastTransitionTime": _AT, "lastProbeTime": _AT}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": _AT, "completionTime": _AT, "succeeded": 1, "conditions": done}
        await self.client.patch(JOBS, job, {"status": status}, PatchType.MERGE, self.namespace, subresource="status")


def condition(cluster: Object, kind: str) -> Object:
    """One condition of a cluster; empty if it has none."""
    found: Sequence[Object] = (cluster.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each["type"] == kind), {})


def uids(objects: Sequence[Object]) -> set[str]:
    """What tells objects apart from others that had their names."""
    return {each["metadata"]["uid"] for each in objects}


def put(path: str, value: Any) -> list[Object]:
    """An edit of one field, whether it is there or not."""
    return [{"op": "add", "path": path, "value": value}]


def template(name: str = "ray", image: str = "rayproject/ray:2.52.0", **spec: Any) -> Object:
    """A small pod template."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    return {"spec": {"containers": [{"name": name, "image": image, "resources": resources}], **spec}}


def group(name: str = "small", replicas: int = 2, **more: Any) -> Object:
    """A worker group."""
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        "template": template(),
        **more,
    }


def manifest(name: str = "plain", *, groups: Sequence[Object] | None = None, **spec: Any) -> Object:
    """A RayCluster of one head and two workers."""
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": metadata,
        "spec": {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template()},
            "workerGroupSpecs": list(groups) if groups is not None else [group()],
            **spec,
        },
    }
