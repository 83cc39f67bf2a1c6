"""The API server, or somebody else, is in the way of a service."""

from __future__ import annotations

import pytest

from rayward.kube.client.api import Client
from rayward.kube.core.resource import PODS, SERVICES
from tests.operator.service.refusing import Refusing
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness
from tests.operator.stage import group

pytestmark = pytest.mark.anyio

_A, _B = (cluster_config(f"rayproject/ray:{letter}") for letter in "ab")


async def test_a_deletion_that_is_refused_once_is_tried_again(ray: ServiceStage) -> None:
    refusing = Refusing(ray.client.transport, "DELETE", 409, "Conflict")
    async with ray.operator(Client(refusing, namespace=ray.client.namespace)):
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        refusing.times = 1
        await ray.edit(rayClusterConfig=_B)
        assert await ray.until_settled() != old
    assert refusing.times == 0


async def test_an_upgrade_that_a_quota_forbids_says_so_and_what_serves_is_kept_up(ray: ServiceStage) -> None:
    refusing = Refusing(ray.client.transport, "POST", 403, "Forbidden")
    async with ray.operator(Client(refusing, namespace=ray.client.namespace)):
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        serving = await ray.until_settled()
        refusing.times = 10**9
        await ray.edit(rayClusterConfig=_B)
        waiting = await ray.until("Progressing", "True", "FailedWrite")
        assert "not today" in waiting["message"]
        (head,) = await ray.pods()
        await ray.client.delete(PODS, head["metadata"]["name"], ray.namespace)

        async def configured_again() -> bool:
            return len(ray.heads.heads) == 2 and ray.heads.words(serving) == b"one"

        await ray.eventually(configured_again)
        refusing.times = 0
        assert await ray.until_settled() != serving


async def test_an_abort_with_nothing_to_end_is_answered_once_its_annotation_is_gone(
    ray: ServiceStage, caplog: pytest.LogCaptureFixture
) -> None:
    refusing = Refusing(ray.client.transport, "PATCH", 403, "Forbidden")
    async with ray.operator(Client(refusing, namespace=ray.client.namespace)):
        await ray.create(service(cluster_config(groups=[group("small", 1)])))
        await ray.until_settled()
        refusing.times = 10**9
        await ray.edit(rayClusterConfig=cluster_config(groups=[group("small", 2)]))
        await ray.until_reasons("FailedWrite")
        await ray.annotate(abort="true")
        before = refusing.times

        async def tried_again() -> bool:
            return refusing.times <= before - 3

        await ray.eventually(tried_again)
        assert "NothingToAbort" not in caplog.text
        refusing.times = 0

        async def obeyed() -> bool:
            return "rayward.dev/abort" not in ((await ray.service())["metadata"].get("annotations") or {})

        await ray.eventually(obeyed)
        await ray.until_reasons("NothingToAbort")


async def test_a_service_that_somebody_deletes_is_made_again_and_leads_where_it_led(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:broken"))
        await ray.until("Progressing", "False", "ServeDeployFailed")
        await ray.until_names(lambda names: names == {serving})
        await ray.client.delete(SERVICES, f"{NAME}-serve-svc", ray.namespace)

        async def back() -> bool:
            return await ray.serving() == serving

        await ray.eventually(back)
        await ray.until_ready()
        assert await ray.names() == {serving}
    assert len(seen.clusters) == 2


async def test_a_service_of_somebody_else_is_left_alone(ray: ServiceStage) -> None:
    name, theirs = f"{NAME}-serve-svc", {"app": "theirs"}
    spec = {"selector": theirs, "ports": [{"port": 80}]}
    await ray.client.create(SERVICES, {"metadata": {"name": name}, "spec": spec}, ray.namespace)
    async with ray.operator():
        await ray.create(service())
        waiting = await ray.until("Progressing", "True", "FailedWrite")
        assert "already exists and is not owned by RayService" in waiting["message"]
        await ray.until_reasons("ServiceNameTaken")
        assert (await ray.client.get(SERVICES, name, ray.namespace))["spec"]["selector"] == theirs
        await ray.client.delete(SERVICES, name, ray.namespace)
        await ray.until_settled()
