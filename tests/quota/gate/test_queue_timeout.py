"""An upgrade that waits longer for quota than its RayService allows is given up, and the old release serves on."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kube.core.resource import EVENTS
from tests.quota.gate.stage import ENGINES, GateStage, queued_service, release

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_an_upgrade_that_waits_too_long_is_given_up_and_the_next_edit_is_tried(ray: GateStage) -> None:
    await ray.queue(2)
    async with ray.operator():
        await ray.create(
            queued_service(metadata_annotations={labels.QUEUE_TIMEOUT: "1s"}, rayClusterDeletionDelaySeconds=0)
        )
        old = await ray.until_settled()
        await ray.create_cluster("busy")
        await ray.until_pods_of("busy", 1)
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        await ray.until("Progressing", "False", "Aborted")
        await ray.until_names(lambda names: names == {old, "busy"})
        assert await ray.serving() == old

        async def is_told() -> bool:
            about = [one for one in await ray.objects(EVENTS) if one["involvedObject"]["kind"] == "RayService"]
            return any(one["reason"] == "UpgradeQueueTimeout" for one in about)

        await ray.eventually(is_told)
        await ray.annotate(upgrade_queue_timeout="1h")
        await ray.queue(3)
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:3"))
        await ray.until_names(lambda names: old not in names and len(names) == 2)
