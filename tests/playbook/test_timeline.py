"""The timeline of an upgrade, recorded by the operator's process, and read back after the object is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward import AsyncClient
from rayward.changes.intents import SetImage
from rayward.changes.outcomes import NotFound
from rayward.changes.timeline import Store
from rayward.kinds.admission import NO_QUEUES
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.core.resource import CONTROLLER_REVISIONS
from rayward.stack.composition import composed
from tests.operator.service.stage import ServiceStage, service

pytestmark = pytest.mark.anyio


async def test_an_upgrade_is_recorded_and_outlives_the_service(
    ray: ServiceStage, sdk: AsyncClient, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    ray.compose = composed(NO_QUEUES, store=store)
    async with ray.operator():
        await ray.create(service())
        first = await ray.until_settled()
        written = await sdk.upgrade("rayservice/svc", SetImage("rayproject/ray:2"), cause="newer Ray")
        await sdk.settle(written)
        second = await ray.serving()
        assert (await sdk.stats("rayservice/svc")).changes == 2
        await ray.client.delete(RAY_SERVICES, "svc", ray.namespace)

        async def gone() -> bool:
            return not await ray.objects(RAY_SERVICES) and not await ray.objects(CONTROLLER_REVISIONS)

        await ray.eventually(gone)
    found = await sdk.timeline("rayservice/svc", store)
    texts = [one.text for one in found]
    assert f"traffic goes to RayCluster {second}, not {first}" in texts
    # who records a generation first knows not why, or not from what
    assert any(text.startswith("generation 2") and "newer Ray" in text for text in texts)
    assert any(text.startswith("generation 2 was asked for") and "spec.rayClusterConfig" in text for text in texts)
    assert "generation 2 ended: NewReleaseAvailable" in texts
    assert {"RayService", "RayCluster", "Pod"} <= {one.kind for one in found}
    assert texts[-1] != texts[0]
    assert [one.at for one in found] == sorted(one.at for one in found)
    with pytest.raises(NotFound):
        await sdk.timeline("rayservice/svc")


async def test_without_a_record_the_server_is_asked(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.create(service())
        await ray.until_settled()
        await ray.until_reasons("SwitchedTraffic")
    found = await sdk.timeline("rayservice/svc")
    assert {"spec", "condition", "event"} <= {one.what for one in found}
    assert any(one.text.startswith("SwitchedTraffic") for one in found)
