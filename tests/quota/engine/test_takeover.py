"""The engine beside Kueue's manager: it admits nothing while that is at work, also when it was installed later."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.resources import CLUSTER_QUEUES, WORKLOADS
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import DEPLOYMENTS, EVENTS, LEASES
from rayward.kube.runtime.manager import Manager
from rayward.quota.engine.reconcile import KUEUE_IS_AT_WORK
from rayward.quota.engine.takeover import LEASE
from rayward.quota.sources import ALL_WORKLOADS
from tests.operator.service import servers
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
