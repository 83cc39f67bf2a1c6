"""Beside Kueue's own integrations: whose an object is, what happens while Kueue is down, and its own RayServices."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rayward.kinds import labels
from rayward.kinds.admission import BY_KUEUE
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, WORKLOADS
from tests.kube.kueue import Kueue
from tests.quota.gate.stage import KUEUE_ON_BOTH, KUEUE_ONLY, GateStage, group, queued_service, release

pytestmark = pytest.mark.anyio

_on_kueue = pytest.mark.parametrize("engine", KUEUE_ONLY, indirect=True)


@_on_kueue
async def test_a_queue_named_default_makes_new_objects_kueues_own_and_leaves_those_of_the_gate(ray: GateStage) -> None:
    await ray.queue(4)
    async with ray.operator():
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.add_default_queue()
        await ray.create_cluster("one")
        found = await ray.until_quota("one", "Unknown", BY_KUEUE)
        assert names.QUEUE_NAME in found["message"]
        await ray.until_reasons(BY_KUEUE)
        # Kueue admits it by itself, and what the gate asks for is never touched
        await ray.until_pods_of("one", 1)
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        new = await ray.until_settled(clusters=2)
        assert new != old
        clusters = {one["metadata"]["labels"][labels.CLUSTER] for one in await ray.workloads_of_gate()}
        assert "one" not in clusters
        assert new in clusters


@pytest.mark.parametrize("engine", KUEUE_ON_BOTH, indirect=True)
async def test_beside_a_queue_named_default_pods_are_counted_once(ray: GateStage) -> None:
    """Kueue's ``pod`` integration, on as it is shipped, would ask quota for each new pod by itself."""
    await ray.queue(0)
    async with ray.operator():
        await ray.create(queued_service(groups=[group(replicas=1)], rayClusterDeletionDelaySeconds=0))
        await ray.until_names(lambda found: len(found) == 1)
        await ray.add_default_queue()
        await ray.queue(2)
        serving = await ray.until_settled()
        pods = await ray.pods_of(serving)
        assert len(pods) == 2
        for pod in pods:
            assert not pod["spec"].get("schedulingGates")
            assert names.QUEUE_NAME not in pod["metadata"]["labels"]
        found = await ray.client.list(WORKLOADS, ray.namespace)
        (one,) = found.items
        assert one["metadata"]["labels"][labels.CLUSTER] == serving


@_on_kueue
async def test_while_kueue_is_down_writes_are_refused_and_everything_goes_on_when_it_returns(
    ray: GateStage, kueue_on_real: tuple[Path, Kueue]
) -> None:
    _, manager = kueue_on_real
    await ray.queue(2)
    async with ray.operator():
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
    await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
    await asyncio.to_thread(manager.stop)
    try:
        async with ray.operator():
            # Its webhooks refuse even the RayClusters that RayServices make.
            await ray.until_reasons("FailedWrite")
            assert await ray.serving() == old
            assert len(await ray.pods_of(old)) == 1
            await asyncio.to_thread(manager.start)
            assert await ray.until_settled() != old
    finally:
        await asyncio.to_thread(manager.restore)


@pytest.mark.parametrize("engine", KUEUE_ON_BOTH, indirect=True)
async def test_kueues_own_integration_admits_a_service_preempts_it_and_admits_it_again(ray: GateStage) -> None:
    await ray.queue(2, preemption={"withinClusterQueue": "LowerPriority"})
    await ray.priority("high", 100)
    theirs = {"metadata": {"labels": {names.QUEUE_NAME: "q"}}}
    service = queued_service(groups=[group(replicas=1)], rayClusterDeletionDelaySeconds=0)
    service["metadata"] |= theirs["metadata"]
    async with ray.operator():
        await ray.create(service)
        serving = await ray.until_settled()
        assert len(await ray.pods_of(serving)) == 2
        assert not await ray.workloads_of_gate()
        await ray.until_next_second()
        urgent = {names.QUEUE_NAME: "q", names.PRIORITY_CLASS: "high", labels.QUEUE_NAME: ""}
        await ray.create_cluster("urgent", cpu=2, labels=urgent)
        await ray.until("Ready", "False", "ZeroServeEndpoints")
        await ray.until_pods_of(serving, 0)
        await ray.until_pods_of("urgent", 1)
        assert serving in await ray.names()
        await ray.client.delete(RAY_CLUSTERS, "urgent", ray.namespace)
        assert await ray.until_settled() == serving
        assert len(await ray.pods_of(serving)) == 2
