"""Releases that cannot work, given to a service that serves: the cause is told, and the old config answers again."""

from __future__ import annotations

import pytest

from rayward.kinds.labels import SERVE_CONFIG_UPGRADE
from tests.operator.service.stage import ServiceStage, config, service
from tests.operator.stage import condition

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("broken", "reason", "says"),
    [
        pytest.param(config("app:broken"), "ServeDeployFailed", "No module named 'app'", id="a module that is missing"),
        pytest.param(config("app:raises"), "ServeDeployFailed", "RuntimeError: no weights", id="a constructor"),
        pytest.param(config("app:huge"), "ReplicasUnschedulable", "it needs 16 CPU", id="no room for a replica"),
        pytest.param(config("app:grouped"), "ReplicasUnschedulable", "it needs 16 CPU", id="no room for a bundle"),
        pytest.param(
            config("app:hangs"), "ReplicasNotStarted", "no replica has started", id="a constructor that hangs"
        ),
        pytest.param(
            config("app:one", deployments=[{"name": "Greeter", "user_config": {"hangs": "yes"}}]),
            "ReplicasNotStarted",
            "reconfigure has not returned",
            id="a reconfigure that hangs",
        ),
        pytest.param(
            config("app:two", deployments=[{"name": "Greeter", "ray_actor_options": {"num_cpus": 16}}]),
            "ValidationFailed",
            "asks for 16 CPU",
            id="a replica that can never fit",
        ),
        pytest.param(config("app"), "ValidationFailed", "not an import path", id="an import path that is none"),
        pytest.param("applications: [", "ValidationFailed", "YAML", id="no YAML"),
    ],
)
async def test_a_config_that_cannot_work_is_told_and_the_old_one_answers(
    ray: ServiceStage, broken: str, reason: str, says: str
) -> None:
    async with ray.operator():
        soon = {"rayward.dev/scheduling-timeout": "1s", "rayward.dev/replica-start-timeout": "4s"}
        await ray.create(service(metadata={"annotations": soon}))
        serving = await ray.until_settled()
        await ray.edit(serveConfigV2=broken)
        stalled = await ray.until("Stalled", "True", reason)
        assert says in stalled["message"]
        assert "\n" not in stalled["message"]

        async def answers() -> bool:
            now = await ray.serving()
            # Ray ends no replica in reconfigure: another cluster answers then.
            same = (now == serving) is ("reconfigure" not in says)
            return same and ray.heads.words(now) == b"one" and (await ray.conditions("Ready"))[0] == "True"

        await ray.eventually(answers)
        found = await ray.service()
        assert condition(found, "Ready")["observedGeneration"] < found["metadata"]["generation"]
        serving = await ray.serving()
        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"


@pytest.mark.parametrize("broken", ["app:broken", "app:raises"])
async def test_other_code_that_cannot_work_never_reaches_the_cluster_that_serves(
    ray: ServiceStage, broken: str
) -> None:
    async with ray.operator():
        await ray.create(service(metadata={"annotations": {SERVE_CONFIG_UPGRADE: None}}))
        serving = await ray.until_settled()
        sent = len(ray.heads.of(serving).puts)
        await ray.edit(serveConfigV2=config(broken))
        await ray.until("Stalled", "True", "ServeDeployFailed")
        assert len(ray.heads.of(serving).puts) == sent
        assert ray.heads.words(serving) == b"one"

        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled() != serving
