"""The engine beside Kueue's manager: it admits nothing while that is at work, also when it was installed later."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import crds
from rayward.kinds.kueue.names import ADMISSION_MANAGER
from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import DEPLOYMENTS, EVENTS, LEASES, NAMESPACES
from rayward.kube.runtime.manager import Manager
from rayward.quota.engine.takeover import KUEUE_IS_AT_WORK, LEASE
from rayward.quota.sources import ALL_WORKLOADS
from tests.contract.target import embedded_server
from tests.kube import kueue
from tests.operator.service.conftest import CONTROLLERS
from tests.quota.engine.stage import PATIENCE, QuotaStage

pytestmark = pytest.mark.anyio

_KUEUE: Final = "kueue-controller-manager"


@pytest.fixture(scope="module")
def own_kubeconfig() -> Iterator[Path]:
    """A server of their own: what seems to be Kueue here would stop the engines of other tests.

    No controllers are beside it: they would write over the status of a Deployment without pods.
    """
    with tempfile.TemporaryDirectory(prefix="rayward-takeover-") as name, embedded_server(Path(name)):
        yield Path(name) / "kubeconfig"


@pytest.fixture
async def quota(own_kubeconfig: Path) -> AsyncGenerator[QuotaStage]:
    async with QuotaStage.on(find_access(own_kubeconfig)) as made:
        await made.queue(cpu=2)
        yield made


def _deployment(namespace: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "kueue"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "kueue"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _KUEUE, "namespace": namespace, "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


async def _renew(quota: QuotaStage, namespace: str = "") -> None:
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    # long enough for a machine that stalls: the lease counts as held until it is deleted
    spec = {"holderIdentity": "kueue", "leaseDurationSeconds": 600, "renewTime": now}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    body["metadata"] = {"name": LEASE, "namespace": namespace or quota.namespace}
    await quota.client.apply(LEASES, body, field_manager="kueue", force=True)


async def _told(quota: QuotaStage, queue: str) -> list[dict[str, Any]]:
    """The events of a ClusterQueue that say that Kueue is at work."""
    about = (CLUSTER_QUEUES.kind, quota.queue_name(queue))
    events = [one for one in (await quota.client.list(EVENTS)).items if one["reason"] == KUEUE_IS_AT_WORK]
    return [one for one in events if (one["involvedObject"]["kind"], one["involvedObject"]["name"]) == about]


async def _is_told(quota: QuotaStage, where: str, queue: str = "q") -> bool:
    return any(where in one["message"] for one in await _told(quota, queue))


async def _has_nothing_to_do(manager: Manager, quota: QuotaStage, name: str) -> bool:
    """The engine has seen a workload, and done about it what it is going to do."""
    seen = Key(quota.namespace, name) in manager.informers.cache(ALL_WORKLOADS)
    return seen and manager.controllers["quota"].controller.idle


@pytest.mark.kube
async def test_kueue_takes_over_what_the_engine_admitted_as_it_is() -> None:
    if missing := kueue.missing():
        pytest.skip(missing)
    definitions = [*crds.manifests(), *crds.manifests(crds.QUEUEING_PLURALS)]
    with ExitStack() as stack:
        kubeconfig, installed = stack.enter_context(kueue.real_server(CONTROLLERS, definitions))
        async with QuotaStage.on(find_access(kubeconfig), kinds=True) as quota:
            await quota.queue(cpu=2)
            async with quota.engine():
                await quota.ask("w0")
                await quota.until_admitted("w0")
                await quota.ask("w1")
                await quota.until_admitted("w0", "w1")
                await quota.ask("w2")
                await quota.until_condition("w2", "QuotaReserved", False)
            before = await quota.workloads()
            await asyncio.to_thread(stack.enter_context, installed())

            async def is_kueues() -> bool:
                found = await quota.client.get(CLUSTER_QUEUES, quota.queue_name("q"))
                return bool(found["metadata"].get("finalizers"))

            await quota.until(is_kueues)
            async with quota.engine():
                await quota.until(lambda: _is_told(quota, LEASE))
            await quota.finish("w0")
            await quota.until_admitted("w1", "w2")
            after = await quota.workloads()
            assert after["w1"].status.admission == before["w1"].status.admission
            assert not any(one.evicted for one in after.values())
            raw = await quota.client.get(WORKLOADS, "w1", quota.namespace)
            owners = {one["manager"] for one in raw["metadata"]["managedFields"] if one.get("subresource") == "status"}
            assert owners == {ADMISSION_MANAGER}


async def test_it_admits_nothing_beside_a_deployment_that_is_ready_and_says_where(quota: QuotaStage) -> None:
    await quota.client.create(DEPLOYMENTS, _deployment(quota.namespace), quota.namespace)
    ready = {"status": {"replicas": 1, "readyReplicas": 1}}
    kind = PatchType.MERGE
    await quota.client.patch(DEPLOYMENTS, _KUEUE, ready, kind, quota.namespace, subresource="status")
    async with quota.engine() as manager:
        await quota.ask("w")
        await quota.until(lambda: _is_told(quota, f"Deployment {quota.namespace}/{_KUEUE}"))
        await quota.until(lambda: _has_nothing_to_do(manager, quota, "w"))
        assert not (await quota.client.get(WORKLOADS, "w", quota.namespace)).get("status")
        assert not (await quota.client.get(CLUSTER_QUEUES, quota.queue_name("q"))).get("status")
        await quota.client.delete(DEPLOYMENTS, _KUEUE, quota.namespace)
        await quota.until_admitted("w")


async def test_a_kueue_that_comes_later_takes_over_and_the_engine_goes_on_when_it_is_gone(quota: QuotaStage) -> None:
    async with quota.engine() as manager:
        await quota.ask("before")
        await quota.until_admitted("before")
        await _renew(quota)

        async def is_told() -> bool:
            await _renew(quota)
            return await _is_told(quota, f"Lease {quota.namespace}/{LEASE}")

        await quota.until(is_told)
        await quota.ask("w")
        await quota.until(lambda: _has_nothing_to_do(manager, quota, "w"))
        assert not (await quota.client.get(WORKLOADS, "w", quota.namespace)).get("status")
        await quota.client.delete(LEASES, LEASE, quota.namespace)
        await quota.until_admitted("before", "w")


async def test_each_cluster_queue_is_told_once_also_one_that_is_made_while_kueue_works(quota: QuotaStage) -> None:
    # leases are looked at in the order of their namespaces
    before = f"a-{quota.namespace}"
    await quota.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": before}})

    async def is_told() -> bool:
        await _renew(quota)
        return await _is_told(quota, f"Lease {quota.namespace}/{LEASE}")

    async def is_told_of_another_place() -> bool:
        await _renew(quota)
        await _renew(quota, before)
        return await _is_told(quota, f"Lease {before}/{LEASE}", names[-1])

    async with quota.engine():
        await quota.until(is_told)
        await _renew(quota, before)
        names = ["q"]
        async with asyncio.timeout(PATIENCE):
            while not await is_told_of_another_place():
                names.append(f"later-{len(names)}")
                await quota.queue(names[-1])
                await quota.until(lambda: _is_told(quota, LEASE, names[-1]))
        for name in names:
            (event,) = await _told(quota, name)
            assert event["count"] == 1
        await quota.client.delete(LEASES, LEASE, quota.namespace)
        await quota.client.delete(LEASES, LEASE, before)


async def test_a_queue_without_its_cluster_queue_says_so_when_kueue_is_gone(quota: QuotaStage) -> None:
    spec = {"clusterQueue": quota.queue_name("nowhere")}
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "spec": spec}
    body["metadata"] = {"name": "lost", "namespace": quota.namespace}

    async def is_told() -> bool:
        await _renew(quota)
        return await _is_told(quota, f"Lease {quota.namespace}/{LEASE}")

    async def reasons() -> list[str]:
        status = (await quota.client.get(LOCAL_QUEUES, "lost", quota.namespace)).get("status", {})
        return [one["reason"] for one in status.get("conditions", ())]

    async def says_so() -> bool:
        return await reasons() == ["ClusterQueueDoesNotExist"]

    await quota.client.apply(LOCAL_QUEUES, body, field_manager="tests", force=True)
    # before the engine looks for it: until then nothing is said about any queue
    await _renew(quota)
    async with quota.engine():
        await quota.until(is_told)
        assert await reasons() == []
        await quota.client.delete(LEASES, LEASE, quota.namespace)
        await quota.until(says_so)
