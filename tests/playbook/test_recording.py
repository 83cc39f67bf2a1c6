"""Every generation is in the history, whoever asked for it."""

from __future__ import annotations

import pytest

from rayward import AsyncClient
from rayward.changes.revisions import KEPT, OUTCOME
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import CONTROLLER_REVISIONS
from tests.operator.service.stage import ServiceStage, config, service
from tests.operator.stage import GROUPS, Object, manifest, put

pytestmark = pytest.mark.anyio


async def _revisions(ray: ServiceStage) -> list[Object]:
    found = await ray.objects(CONTROLLER_REVISIONS)
    return sorted(found, key=lambda one: one["revision"])


async def test_a_change_by_somebody_else_is_recorded_with_its_outcome(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.create(service())
        await ray.until_settled()
        await ray.edit(serveConfigV2=config("app:two"))
        await ray.until_settled()

        async def ended() -> bool:
            found = await _revisions(ray)
            return [OUTCOME in one["metadata"]["annotations"] for one in found] == [True, True]

        await ray.eventually(ended)
    one, two = await sdk.history("rayservice/svc")
    assert (one.revision, two.revision) == (1, 2)
    assert two.spec is not None
    assert "app:two" in two.spec["serveConfigV2"]
    assert (two.outcome, two.manager != "") == ("NewReleaseAvailable", True)
    assert {found["metadata"]["ownerReferences"][0]["kind"] for found in await _revisions(ray)} == {"RayService"}


async def test_how_a_generation_of_a_cluster_ended_is_recorded(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(), ray.namespace)
        await ray.until_pods(3)
        await ray.patch({"spec": {"headGroupSpec": {"serviceType": "Foo"}}})

        async def ended() -> bool:
            found = await _revisions(ray)
            return [OUTCOME in one["metadata"]["annotations"] for one in found] == [True, True]

        await ray.eventually(ended)
    good, bad = await sdk.history("raycluster/plain")
    assert (good.result, bad.result, bad.outcome) == ("Applied", "Failed", "InvalidSpec"), (good, bad)


async def test_what_happened_while_nobody_looked_is_a_gap_and_the_oldest_are_dropped(
    ray: ServiceStage, sdk: AsyncClient
) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(suspend=True), ray.namespace)

        async def recorded() -> bool:
            return bool(await _revisions(ray))

        await ray.eventually(recorded)
    for replicas in (3, 4, 5):
        await ray.patch(put(f"{GROUPS}/0/replicas", replicas))
    async with ray.operator():

        async def again() -> bool:
            return len(await _revisions(ray)) == 2

        await ray.eventually(again)
        found = await sdk.history("raycluster/plain")
        assert [(one.revision, one.until, one.is_gap) for one in found] == [(1, 0, False), (2, 3, True), (4, 0, False)]
        for replicas in range(KEPT + 2):
            generation = (await ray.patch(put(f"{GROUPS}/0/replicas", replicas % 9)))["metadata"]["generation"]

            async def newest(wanted: int = generation) -> bool:
                return (await _revisions(ray))[-1]["revision"] == wanted

            await ray.eventually(newest)
        last = (await ray.cluster())["metadata"]["generation"]

        async def pruned() -> bool:
            numbers = [one["revision"] for one in await _revisions(ray)]
            return len(numbers) <= KEPT and numbers[-1] == last

        await ray.eventually(pruned)
        gone = [one for one in await sdk.history("raycluster/plain") if one.pruned]
        assert gone[0].revision == 1
