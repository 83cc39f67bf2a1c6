"""The engine beside Kueue's manager: it admits nothing while that is at work, also when it was installed later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import crds
from rayward.kinds.kueue.names import ADMISSION_MANAGER
from rayward.kinds.resources import CLUSTER_QUEUES, WORKLOADS
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import DEPLOYMENTS, EVENTS, LEASES
from rayward.kube.runtime.manager import Manager
from rayward.quota.engine.reconcile import KUEUE_IS_AT_WORK
from rayward.quota.engine.takeover import LEASE
from rayward.quota.sources import ALL_WORKLOADS
from tests.kube import kueue
from tests.operator.service import servers
from tests.operator.service.conftest import CONTROLLERS
from tests.quota.engine.stage import QuotaStage

pytestmark = pytest.mark.anyio

_KUEUE: Final = "kueue-controller-manager"


@pytest.fixture(scope="module")
def own_kubeconfig() -> Iterator[Path]:
    """A server of their own: what seems to be Kueue here would stop the engines of other tests."""
    with servers.embedded() as kubeconfig:
        yield kubeconfig


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


async def _renew(quota: QuotaStage) -> None:
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    spec = {"holderIdentity": "kueue", "leaseDurationSeconds": 15, "renewTime": now}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    body["metadata"] = {"name": LEASE, "namespace": quota.namespace}
    await quota.client.apply(LEASES, body, field_manager="kueue", force=True)


async def _is_told(quota: QuotaStage, where: str) -> bool:
    events = (await quota.client.list(EVENTS)).items
    queue = (CLUSTER_QUEUES.kind, quota.queue_name("q"))
    return any(
        where in one["message"] and (one["involvedObject"]["kind"], one["involvedObject"]["name"]) == queue
        for one in events
        if one["reason"] == KUEUE_IS_AT_WORK
    )


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
