"""The queue of a machine follows its nodes, and leaves alone what is somebody's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import NAMESPACES, NODES
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.quota import machine
from tests.contract.kubectl import targets
from tests.operator.stage import running
from tests.quota.engine.building import groups
from tests.quota.engine.stage import PATIENCE, install

Amounts = dict[str, str]
_DEFAULT: Final = "default"


@pytest.mark.parametrize(
    ("nodes", "quota"),
    [
        ([{"cpu": "4", "memory": "8Gi", "pods": "110"}], {"cpu": "4", "memory": "8Gi"}),
        ([{"cpu": "1500m"}, {"cpu": "500m", "memory": "1Gi"}], {"cpu": "2", "memory": "1Gi"}),
        ([{"cpu": "1", "nvidia.com/gpu": "2"}, {"cpu": "1"}], {"cpu": "2", "memory": "0", "nvidia.com/gpu": "2"}),
        ([{"cpu": "1"}, {"cpu": "plenty"}], {"cpu": "1", "memory": "0"}),
    ],
)
def test_the_quota_is_the_sum_of_what_nodes_can_allocate(nodes: list[Amounts], quota: Amounts) -> None:
    (group,) = machine.cluster_queue("machine", nodes)["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    assert (flavor["name"], group["coveredResources"]) == ("machine", sorted(quota))
    assert {one["name"]: one["nominalQuota"] for one in flavor["resources"]} == quota


@pytest.fixture(scope="module")
def own_kubeconfig() -> Iterator[Path]:
    """A server of their own: all its nodes count."""
    with targets.embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture
async def client(own_kubeconfig: Path) -> AsyncGenerator[Client]:
    """Talks to a server without nodes."""
    async with Client.connect(find_access(own_kubeconfig)) as made:
        await install(made)
        for node in (await made.list(NODES)).items:
            await made.delete(NODES, node["metadata"]["name"])
        yield made


@asynccontextmanager
async def _machine(client: Client, name: str) -> AsyncGenerator[None]:
    recorder, metrics = EventRecorder(client, machine.NAME), Metrics(CollectorRegistry())
    manager = Manager(client, [machine.registration(name)], None, recorder=recorder, metrics=metrics, workers=2)
    async with running(manager.run, recorder.run):
        yield


async def _set_node(client: Client, name: str, **allocatable: str) -> None:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await client.apply(NODES, body, field_manager="tests", force=True)
    change = {"status": {"allocatable": allocatable}}
    await client.patch(NODES, name, change, PatchType.MERGE, subresource="status")


async def _quota(client: Client, name: str) -> Amounts:
    """By resource; nothing where the queue is not there."""
    with suppress(NotFound):
        found = await client.get(CLUSTER_QUEUES, name)
        flavors: list[dict[str, Any]] = found["spec"]["resourceGroups"][0]["flavors"]
        return {one["name"]: str(one["nominalQuota"]) for one in flavors[0]["resources"]}
    return {}


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - what holds is on a server
            await asyncio.sleep(0.05)


async def _until_quota(client: Client, name: str, **quota: str) -> None:
    async def holds() -> bool:
        return await _quota(client, name) == quota

    await _until(holds)


async def _until_queue_in(client: Client, namespace: str, name: str) -> None:
    async def holds() -> bool:
        with suppress(NotFound):
            found = await client.get(LOCAL_QUEUES, name, namespace)
            return found["spec"]["clusterQueue"] == name
        return False

    await _until(holds)


@pytest.mark.anyio
async def test_the_queue_follows_the_nodes_and_every_namespace_gets_one(client: Client) -> None:
    await _set_node(client, "one", cpu="4", memory="8Gi", pods="110")
    async with _machine(client, "all"):
        await _until_quota(client, "all", cpu="4", memory="8Gi")
        assert (await client.get(RESOURCE_FLAVORS, "all"))["metadata"]["labels"] == {machine.MANAGED: "true"}
        await _set_node(client, "two", cpu="2", memory="1Gi")
        await _until_quota(client, "all", cpu="6", memory="9Gi")
        await _set_node(client, "one", cpu="3", memory="8Gi", pods="110")
        await _until_quota(client, "all", cpu="5", memory="9Gi")
        await client.delete(NODES, "two")
        await _until_quota(client, "all", cpu="3", memory="8Gi")
        await client.delete(CLUSTER_QUEUES, "all")
        await _until_quota(client, "all", cpu="3", memory="8Gi")
        await _until_queue_in(client, _DEFAULT, "all")
        await client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await _until_queue_in(client, "team", "all")
        await client.delete(LOCAL_QUEUES, "all", "team")
        await _until_queue_in(client, "team", "all")
        assert {one["metadata"]["namespace"] for one in (await client.list(LOCAL_QUEUES)).items}.isdisjoint(
            {"kube-system", "kube-public", "kube-node-lease"}
        )


@pytest.mark.anyio
async def test_a_queue_of_the_name_that_somebody_made_stays_as_it_is_until_it_is_gone(client: Client) -> None:
    own = {"namespaceSelector": {}, "resourceGroups": groups({"all": {"cpu": "1"}})}
    about = {"apiVersion": CLUSTER_QUEUES.api_version, "kind": CLUSTER_QUEUES.kind, "metadata": {"name": "theirs"}}
    await client.create(CLUSTER_QUEUES, {**about, "spec": own})
    await _set_node(client, "one", cpu="4", memory="8Gi")
    async with _machine(client, "theirs"):
        await _until_queue_in(client, _DEFAULT, "theirs")
        assert await _quota(client, "theirs") == {"cpu": "1"}
        await client.delete(CLUSTER_QUEUES, "theirs")
        await _until_quota(client, "theirs", cpu="4", memory="8Gi")
