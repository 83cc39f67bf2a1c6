"""The verbs of a rollout, under the running operator."""

from __future__ import annotations

import pytest

from rayward import AsyncClient
from rayward.changes.intents import SetField, SetImage
from rayward.changes.outcomes import Invalid
from rayward.kinds import labels
from tests.operator.service.stage import ServiceStage, config, service
from tests.operator.stage import Stage, group, manifest, uids

pytestmark = pytest.mark.anyio


async def test_an_upgrade_is_paused_promoted_and_restarted(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.create(service())
        first = await ray.until_settled()
        with pytest.raises(Invalid, match="no upgrade in progress"):
            await sdk.promote("rayservice/svc")
        other = SetField("serveConfigV2", config("app:two"))
        await sdk.upgrade("rayservice/svc", other, paused=True, cause="two")
        await ray.until("Progressing", "True", "Paused")
        assert await ray.serving() == first
        await sdk.promote("rayservice/svc")
        second = await ray.until_settled(2)
        assert second != first, "a config alone got a cluster of its own"
        await sdk.resume("rayservice/svc")
        await sdk.restart("rayservice/svc")
        third = await ray.until_settled(3)
        assert third not in (first, second)
        found = [(one.cause, one.outcome) for one in await sdk.history("rayservice/svc")]
        assert [cause for cause, _ in found] == ["", "two", "restart"]


async def test_an_aborted_upgrade_is_not_tried_again_until_it_is_retried(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.create(service(metadata={"annotations": {labels.PAUSE: "true"}}))

        async def paused() -> bool:
            return (await ray.conditions("Progressing"))[1] == "Paused"

        await ray.eventually(paused)
        await sdk.promote("rayservice/svc")
        first = await ray.until_settled()
        await sdk.upgrade("rayservice/svc", SetImage("rayproject/ray:2"))
        await ray.until("Progressing", "True", "Paused")
        await sdk.abort("rayservice/svc")
        await ray.until("Progressing", "False", "Aborted")
        await ray.until_names(lambda names: names == {first})
        with pytest.raises(Invalid, match="no upgrade in progress"):
            await sdk.abort("rayservice/svc")
        await sdk.resume("rayservice/svc")
        await sdk.retry("rayservice/svc")
        assert await ray.until_settled(2) != first
        with pytest.raises(Invalid, match="given up"):
            await sdk.retry("rayservice/svc")


async def test_workers_are_rolled_out_and_the_head_stays(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[group("small", 2)], upgradeStrategy={"type": "Recreate"}))
        await ray.until_pods(3)
        head, workers = uids(await ray.pods("headgroup")), uids(await ray.pods("small"))
        written = await sdk.rollout("raycluster/plain")
        await sdk.settle(written)
        await ray.until_gone(workers)
        await ray.until_pods(3)
        assert uids(await ray.pods("headgroup")) == head
        written = await sdk.rollout("raycluster/plain", SetImage("rayproject/ray:2.53.0", "small"))
        await sdk.settle(written)
        images = {pod["spec"]["containers"][0]["image"] for pod in await ray.pods("small")}
        assert images == {"rayproject/ray:2.53.0"}
        with pytest.raises(Invalid, match="RayCluster cannot be restarted"):
            await sdk.restart("raycluster/plain")
