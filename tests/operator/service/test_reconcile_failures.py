"""What goes wrong with a service, and that it goes on answering all the same."""

from __future__ import annotations

import base64

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS, PODS, SECRETS
from rayward.operator.ray import serve
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness
from tests.operator.stage import condition

pytestmark = pytest.mark.anyio


_A, _B, _C = (cluster_config(f"rayproject/ray:{letter}") for letter in "abc")
_NO_YAML = "applications: [\n  nonsense"


async def test_a_broken_release_is_taken_back_and_not_tried_again(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:broken"))
        failed = await ray.until("Progressing", "False", "ServeDeployFailed")
        assert "No module named 'app'" in failed["message"]
        await ray.until_names(lambda names: names == {old})
        assert (await ray.conditions("Ready"))[0] == "True"
        await ray.until_reasons("ServeDeployFailed", "DeletedRayCluster")
    # Neither does the next operator.
    async with ray.operator():
        await ray.annotate(change="look again")
        await ray.until("Progressing", "False", "ServeDeployFailed")
        await ray.until("Stalled", "True", "ServeDeployFailed")
        assert await ray.names() == {old}
        assert len(seen.clusters) == 2
        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled() != old
    seen.swears()


async def test_a_broken_config_is_taken_back_on_the_cluster_that_serves(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        await ray.edit(serveConfigV2=config("app:broken"))
        failed = await ray.until("Progressing", "False", "ServeDeployFailed")
        assert failed["message"].endswith("; rolled back to the previous Serve config")

        async def back() -> bool:
            return ray.heads.words(serving) == b"one" and len(ray.heads.of(serving).puts) == 3

        await ray.eventually(back)
        await ray.until_ready()
    assert await ray.names() == {serving}


async def test_a_first_release_that_fails_is_mended_by_an_edit(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(serve=config("app:broken")))
        await ray.until("Progressing", "False", "ServeDeployFailed")
        assert (await ray.conditions("Ready"))[0] == "False"
        before = await ray.names()
        await ray.edit(serveConfigV2=config("app:two"))
        assert {await ray.until_settled()} == before


async def test_a_constructor_that_hangs_meets_the_deadline(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A))
        old = await ray.until_settled()
        await ray.annotate(progress_deadline="6s")
        await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:hangs"))
        failed = await ray.until("Progressing", "False", "ProgressDeadlineExceeded")
        assert "no progress since" in failed["message"]
        await ray.until_names(lambda names: names == {old})
        assert (await ray.conditions("Ready"))[0] == "True"


async def test_a_first_release_that_is_not_ready_in_time_is_given_up(ray: ServiceStage) -> None:
    ray.kubelet.starts = lambda pod: False
    async with ray.operator():
        await ray.create(service(metadata={"annotations": {labels.INITIALIZING_TIMEOUT: "2s"}}))
        late = await ray.until("Ready", "False", "InitializingTimeout")
        # KubeRay's own tests look for these words.
        assert "RayService failed to become ready within the configured timeout of " in late["message"]
        await ray.until_names(lambda names: names == set())
        ray.kubelet.starts = lambda pod: True
        patience = {"metadata": {"annotations": {labels.INITIALIZING_TIMEOUT: "10m"}}}
        await ray.client.patch(RAY_SERVICES, NAME, patience, PatchType.MERGE, ray.namespace)
        await ray.edit(serveConfigV2=config("app:two"), rayClusterConfig=_B)
        await ray.until_settled()


async def test_a_spec_that_cannot_be_read_changes_nothing(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A))
        serving = await ray.until_settled()
        await ray.edit(serveConfigV2=_NO_YAML, rayClusterConfig=_B, serveService={"spec": {"type": "NodePort"}})
        refused = await ray.until("Progressing", "False", "ValidationFailed")
        assert "line" in refused["message"]
        found = await ray.service()
        generation, ready = found["metadata"]["generation"], condition(found, "Ready")
        assert found["status"]["observedGeneration"] == generation
        assert await ray.conditions("Stalled") == ("True", "ValidationFailed")
        assert (ready["status"], ready["observedGeneration"]) == ("True", generation - 1)
        assert await ray.names() == {serving}
        assert len(ray.heads.of(serving).puts) == 1
        await ray.until_reasons("InvalidRayServiceSpec")
        await ray.edit(serveConfigV2=config("app:two"))
        await ray.until_settled(clusters=2)


async def test_an_annotation_that_is_mended_is_read_again(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(metadata={"annotations": {"rayward.dev/progress-deadline": "soon"}}))
        await ray.until("Ready", "False", "ValidationFailed")
        assert await ray.names() == set()
        await ray.annotate(progress_deadline="1h")
        await ray.until_settled()


async def test_strategy_none_keeps_the_cluster_and_says_so(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A, upgradeStrategy={"type": "None"}))
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:two"))
        await ray.until("Drifted", "True", "UpgradeStrategyNone")
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"
        await ray.edit(upgradeStrategy={"type": "NewCluster"})
        assert await ray.until_settled(clusters=2) != serving
        assert await ray.conditions("Drifted") == ("", "")


async def test_a_service_with_nobody_left_to_answer_says_so(ray: ServiceStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "next_look", lambda *args, **settings: 0.2)
    async with ray.operator():
        await ray.create(service(serve=config("app:sickly")))
        silent = await ray.until("Ready", "False", "NoRunningReplica")
        assert silent["message"] == "No running replica of app"
        await ray.until_reasons("Ready", "NotReady")
        await ray.until("Ready", "True", "NonZeroServeEndpoints")


async def test_unhealthy_applications_get_every_remedy_once(ray: ServiceStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "next_look", lambda *args, **settings: 0.2)
    async with ray.operator(), witness(ray) as seen:
        manifest = service(
            serve=config("app:sickly"),
            deploymentUnhealthySecondThreshold=1,
            deploymentUnhealthyRestartThreshold=1,
            rayClusterDeletionDelaySeconds=0,
        )
        await ray.create(manifest)
        await ray.until("SelfHealingExhausted", "True", "RestartThresholdReached")
        await ray.until_reasons("RedeployedApplications", "ReplacingUnhealthyCluster", "SelfHealingExhausted")
        assert len(seen.clusters) == 2
    seen.swears()
    first, second = seen.served
    assert len(ray.heads.of(first).puts) == 2
    assert len(ray.heads.of(second).puts) == 1


async def test_what_replaces_an_unhealthy_cluster_has_to_be_admitted_too(
    ray: ServiceStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "next_look", lambda *args, **settings: 0.2)
    async with ray.operator():
        manifest = service(
            cluster_config(suspend=True),
            serve=config("app:sickly"),
            deploymentUnhealthySecondThreshold=1,
            deploymentUnhealthyRestartThreshold=1,
        )
        await ray.create(manifest)
        (first,) = await ray.until_names(lambda names: len(names) == 1)
        await ray.until("Progressing", "True", "ClusterSuspended")
        # Whoever admits it releases this cluster, and no other one.
        await ray.patch({"spec": {"suspend": False}}, first)
        (second,) = await ray.until_names(lambda names: len(names) == 2) - {first}
        assert (await ray.cluster(first))["spec"]["suspend"] is False
        assert (await ray.cluster(second))["spec"]["suspend"] is True


async def test_warnings_say_what_they_are_about(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(serve=config("app:LLMServer"), deploymentUnhealthyRestartThreshold=1))
        await ray.until_reasons("ServeConfigWarning", "UnexpectedRayServiceSpec")
        told = {event["reason"]: event["message"] for event in await ray.objects(EVENTS)}
        assert "LLMServer looks like a class" in told["ServeConfigWarning"]
        assert "spec.deploymentUnhealthyRestartThreshold" in told["UnexpectedRayServiceSpec"]


async def test_a_serve_that_somebody_empties_is_sent_its_config_again(
    ray: ServiceStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "next_look", lambda *args, **settings: 0.2)
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        head = ray.heads.of(serving)
        head.answer("DELETE", "/api/serve/applications/", {}, None)

        async def again() -> bool:
            return len(head.puts) == 2 and ray.heads.words(serving) == b"one"

        await ray.eventually(again)


async def test_an_upgrade_of_a_kind_that_is_not_there_is_refused_with_that_reason(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=_B, upgradeStrategy={"type": "NewClusterWithIncrementalUpgrade"})
        await ray.until("Progressing", "False", "FeatureNotAvailable")
        assert (await ray.conditions("Ready"))[0] == "True"
        assert await ray.names() == {serving}
        await ray.edit(upgradeStrategy={"type": "NewCluster"})
        assert await ray.until_settled(clusters=2) != serving


async def test_an_abort_that_comes_too_late_does_not_wait_for_the_next_upgrade(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.annotate(abort="true")
        await ray.until_reasons("NothingToAbort")
        await ray.annotate(abort="true")

        async def answered_again() -> bool:
            told = [event for event in await ray.objects(EVENTS) if event["reason"] == "NothingToAbort"]
            return sum(event["count"] for event in told) >= 2

        await ray.eventually(answered_again)
        await ray.edit(rayClusterConfig=_B)
        assert await ray.until_settled() != old


async def test_a_new_head_is_sent_the_config_again(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        (head,) = await ray.pods()
        await ray.client.delete(PODS, head["metadata"]["name"], ray.namespace)

        async def again() -> bool:
            return len(ray.heads.heads) == 2 and ray.heads.words(serving) == b"one"

        await ray.eventually(again)
        assert await ray.until_settled() == serving
        assert [len(found.puts) for found in ray.heads.heads.values()] == [1, 1]


async def test_heads_that_ask_for_a_token_get_it_and_the_next_one_too(ray: ServiceStage) -> None:
    def secret(token: str) -> dict[str, str]:
        return {"auth_token": base64.b64encode(token.encode()).decode()}

    ray.heads.token = "first"
    await ray.client.create(SECRETS, {"metadata": {"name": "key"}, "data": secret("first")}, ray.namespace)
    async with ray.operator():
        await ray.create(service(cluster_config(authOptions={"mode": "token", "secretName": "key"})))
        serving = await ray.until_settled()
        ray.heads.of(serving).token = "second"
        await ray.client.patch(SECRETS, "key", {"data": secret("second")}, PatchType.MERGE, ray.namespace)
        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled() == serving
        assert ray.heads.words(serving) == b"two"
