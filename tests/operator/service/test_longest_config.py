"""The longest Serve config that is accepted: a RayCluster's annotations hold it, and the good one before it."""

from __future__ import annotations

import msgspec
import pytest

from rayward.kinds.serveconfig import parse
from rayward.kinds.validation.service import CONFIG_MAX
from tests.operator.service.stage import ServiceStage, cluster_config, config, service

pytestmark = pytest.mark.anyio


def _longest(path: str, more: int = 0) -> str:
    def padded(count: int) -> str:
        return config(path, runtime_env={"env_vars": {"PADDING": "x" * count}})

    return padded(CONFIG_MAX - len(msgspec.json.encode(parse(padded(0)).payload)) + more)


async def test_it_is_upgraded_to_changed_in_place_and_taken_back(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(serve=_longest("app:one")))
        first = await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:2"), rayClusterDeletionDelaySeconds=0)
        second = await ray.until_settled()
        assert second != first
        await ray.edit(serveConfigV2=_longest("app:two"))
        assert await ray.until_settled() == second
        assert ray.heads.words(second) == b"two"

        await ray.edit(serveConfigV2=_longest("app:broken"))
        await ray.until("Stalled", "True", "ServeDeployFailed")

        async def taken_back() -> bool:
            return ray.heads.words(second) == b"two" and (await ray.conditions("Ready"))[0] == "True"

        await ray.eventually(taken_back)

        await ray.edit(serveConfigV2=_longest("app:one", more=1))
        stalled = await ray.until("Stalled", "True", "ValidationFailed")
        assert f"the limit is {CONFIG_MAX}" in stalled["message"]
        assert await ray.serving() == second
