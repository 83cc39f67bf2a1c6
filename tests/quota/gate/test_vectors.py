"""The worked vectors of an upgrade: a service of a head and two workers, one CPU each, counted exactly."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from tests.quota.gate.stage import ENGINES, WITH_DEFAULT, GateStage, group, queued_service, release

pytestmark = pytest.mark.anyio
on_both = pytest.mark.parametrize("engine", ENGINES, indirect=True)
with_default = pytest.mark.parametrize("engine", WITH_DEFAULT, indirect=True)

_IMAGE = "rayproject/ray:2"


async def _serving(ray: GateStage) -> str:
    await ray.create(queued_service(groups=[group()], rayClusterDeletionDelaySeconds=0))
    return await ray.until_settled()


@with_default
@pytest.mark.parametrize(
    "edit",
    [
        {"image": _IMAGE, "groups": [group()]},
        {"head": "500m", "groups": [group(replicas=1)]},
        {"groups": [group("w2")]},
    ],
    ids=["same shapes", "smaller", "renamed group"],
)
async def test_an_upgrade_that_fits_beside_the_release_that_serves_is_admitted(
    ray: GateStage, edit: dict[str, Any]
) -> None:
    await ray.queue(6)
    async with ray.operator(), ray.within(6):
        old = await _serving(ray)
        await ray.edit(rayClusterConfig=release(**edit))
        assert await ray.until_settled() != old


@with_default
@pytest.mark.parametrize(("cpu", "head", "needs"), [(5, 1, 3), (6, 2, 4)], ids=["too little for two", "a larger head"])
async def test_an_upgrade_that_never_fits_beside_the_release_that_serves_is_told_so(
    ray: GateStage, cpu: int, head: int, needs: int
) -> None:
    await ray.queue(cpu)
    async with ray.operator(), ray.within(3):
        old = await _serving(ray)
        await ray.edit(rayClusterConfig=release(head, _IMAGE, [group()]))
        found = await ray.until("QuotaReserved", "False", "ExceedsMaxQuota")
        assert f"needs cpu {needs} beside 3 that RayService {ray.namespace}/svc holds" in found["message"]
        assert f"of {cpu} at most" in found["message"]
        assert await ray.serving() == old


@on_both
async def test_a_second_edit_while_the_first_waits_asks_for_no_more(ray: GateStage) -> None:
    await ray.queue(6)
    async with ray.operator(), ray.within(6):
        old = await _serving(ray)
        await ray.create_cluster("other")
        await ray.until_pods_of("other", 1)
        for image in (_IMAGE, "rayproject/ray:3"):
            await ray.edit(rayClusterConfig=release(image=image, groups=[group()]))
            await ray.until("QuotaReserved", "False")

        async def one_asks_for_three() -> bool:
            found = [one for one in await ray.workloads() if one["metadata"]["labels"][labels.ROLE] == "surge"]
            return [sum(each["count"] for each in one["spec"]["podSets"]) for one in found] == [3]

        await ray.eventually(one_asks_for_three)
        await ray.client.delete(RAY_CLUSTERS, "other", ray.namespace)
        assert await ray.until_settled() != old


@on_both
async def test_the_release_that_serves_grows_while_an_upgrade_waits(ray: GateStage) -> None:
    await ray.queue(7)
    async with ray.operator(), ray.within(7):
        old = await _serving(ray)
        await ray.create_cluster("other", cpu=2)
        await ray.until_pods_of("other", 1)
        await ray.edit(rayClusterConfig=release(image=_IMAGE, groups=[group()]))
        await ray.until("QuotaReserved", "False")
        await ray.scale(old, 3)
        await ray.until_pods_of(old, 4)
        assert await ray.used() == 6
        assert await ray.serving() == old


@on_both
async def test_a_higher_priority_takes_the_surge_alone(ray: GateStage) -> None:
    await ray.queue(6, preemption={"withinClusterQueue": "LowerPriority"})
    await ray.priority("high", 100)
    async with ray.operator(), ray.within(6):
        old = await _serving(ray)
        new = await ray.upgrade_paused(image=_IMAGE, groups=[group()])
        await ray.until_pods_of(new, 3)
        await ray.create_cluster("urgent", cpu=3, labels={"kueue.x-k8s.io/priority-class": "high"})
        await ray.until_pods_of("urgent", 1)
        assert not await ray.pods_of(new)
        assert len(await ray.pods_of(old)) == 3
        assert await ray.serving() == old
