"""A new user_config for the only replica: another one starts with it, and the one that serves answers meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from rayward.kinds.labels import SERVE_CONFIG_UPGRADE
from rayward.kube.core.resource import EVENTS
from tests.operator.ray.simulated import SimulatedHead
from tests.operator.service.heads import BEHAVIOURS
from tests.operator.service.stage import ServiceStage, config, service

pytestmark = pytest.mark.anyio

_SOON = {SERVE_CONFIG_UPGRADE: None, "rayward.dev/scheduling-timeout": "1s", "rayward.dev/replica-start-timeout": "4s"}


def words(word: str, **more: Any) -> str:
    return config("app:one", deployments=[{"name": "Greeter", "user_config": {"word": word, **more}}])


def _limit(ray: ServiceStage, cluster: str) -> int | None:
    """What the config that was sent last says of the deployment."""
    (app,) = json.loads(ray.heads.of(cluster).puts[-1])["applications"]
    return app["deployments"][0].get("max_replicas_per_node")


async def test_the_former_replica_answers_until_the_other_one_runs(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(serve=words("one"), metadata={"annotations": _SOON}))
        serving = await ray.until_settled()
        assert _limit(ray, serving) is None
        await ray.edit(serveConfigV2=words("two"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"
        assert _limit(ray, serving) == 100

        await ray.edit(serveConfigV2=words("three", hangs="yes"))
        stalled = await ray.until("Stalled", "True", "ReplicasNotStarted")
        assert "no replica of deployment Greeter has started with the new user_config" in stalled["message"]
        assert ray.heads.words(serving) == b"two"

        async def back() -> bool:
            return _limit(ray, serving) == 100 and (await ray.conditions("Ready"))[0] == "True"

        await ray.eventually(back)
        assert await ray.names() == {serving}
        assert ray.heads.words(serving) == b"two"

        await ray.edit(serveConfigV2=words("four"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"four"
        assert _limit(ray, serving) in (98, 99)

    sent = len(ray.heads.of(serving).puts)
    async with ray.operator():
        await ray.edit(rayClusterDeletionDelaySeconds=7)
        assert await ray.until_settled() == serving
        assert len(ray.heads.of(serving).puts) == sent, "another operator knows the limit too"


async def test_without_room_the_replica_that_serves_is_reconfigured(ray: ServiceStage) -> None:
    ray.heads.behaviours["app:one"] = replace(BEHAVIOURS["app:one"], cpus=3.0)
    async with ray.operator():
        await ray.create(service(serve=words("one"), metadata={"annotations": _SOON}))
        serving = await ray.until_settled()
        await ray.edit(serveConfigV2=words("two"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"
        assert _limit(ray, serving) is None
        told = [event for event in await ray.objects(EVENTS) if event["reason"] == "SurgeUnschedulable"]
        assert "No Ray node has room for a second replica of deployment Greeter" in told[0]["message"]


async def test_a_ray_that_cannot_start_another_replica_first_reconfigures_the_one_that_serves(
    ray: ServiceStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulatedHead, "ray_version", "2.54.0")
    async with ray.operator():
        await ray.create(service(serve=words("one"), metadata={"annotations": _SOON}))
        serving = await ray.until_settled()
        await ray.edit(serveConfigV2=words("two"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"
        assert b"max_surge_percent" not in ray.heads.of(serving).puts[-1]


async def test_in_place_means_the_replica_that_serves(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(serve=words("one")))
        serving = await ray.until_settled()
        await ray.edit(serveConfigV2=words("two"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"
        assert _limit(ray, serving) is None
