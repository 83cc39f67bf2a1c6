"""The verbs of a rollout, under the running operator."""

from __future__ import annotations

import pytest

from rayward import AsyncClient
from rayward.changes.intents import SetField, SetImage
from rayward.changes.outcomes import Invalid, RolloutFailed
from rayward.kinds import labels
from tests.kinds.clusters import changed
from tests.operator.service.stage import ServiceStage, cluster_config, config, service
from tests.operator.stage import Object, Stage, group, manifest, template, uids

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


async def test_a_config_that_failed_in_place_is_tried_again_where_the_cluster_is_kept(
    ray: ServiceStage, sdk: AsyncClient
) -> None:
    async with ray.operator():
        await ray.create(service(upgradeStrategy={"type": "None"}))
        first = await ray.until_settled()
        await sdk.set("rayservice/svc", SetField("serveConfigV2", config("app:broken")))
        await ray.until("ReleaseFailed", "True", "ServeDeployFailed")

        async def back() -> bool:
            return ray.heads.words(first) == b"one" and len(ray.heads.of(first).puts) == 3

        await ray.eventually(back)
        # Ray refuses it no longer: the release lacked something that is there by now.
        ray.heads.of(first).behaviours["app:broken"] = ray.heads.behaviours["app:two"]
        await sdk.retry("rayservice/svc")
        assert await ray.until_settled() == first
        assert ray.heads.words(first) == b"two"
        assert await ray.conditions("Drifted") == ("", "")


async def test_workers_are_rolled_out_and_the_head_stays(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[group("small", 2)], upgradeStrategy={"type": "Recreate"}))
        await ray.until_pods(3)
        head, workers = uids(await ray.pods("headgroup")), uids(await ray.pods("small"))
        written = await sdk.rollout("raycluster/plain")
        assert [note.partition(":")[0] for note in written.notes] == [
            f"annotation {labels.ROLLING_UPDATE}=workers stays"
        ]
        await sdk.settle(written)
        await ray.until_gone(workers)
        await ray.until_pods(3)
        assert uids(await ray.pods("headgroup")) == head
        written = await sdk.rollout("raycluster/plain", SetImage("rayproject/ray:2.53.0", "small"))
        await sdk.settle(written)
        images = {pod["spec"]["containers"][0]["image"] for pod in await ray.pods("small")}
        assert images == {"rayproject/ray:2.53.0"}
        assert not written.notes, "the annotation was there already"
        with pytest.raises(Invalid, match="RayCluster cannot be restarted"):
            await sdk.restart("raycluster/plain")


def _workers(image: str, groups: int = 2) -> Object:
    """A service that keeps its cluster, with workers of an image."""
    config = cluster_config(groups=[group("small", 2, template=template(image=image)), group("other", 1)][:groups])
    return service(config, upgradeStrategy={"type": "None"})


async def test_workers_of_a_service_are_replaced_in_place_and_its_cluster_serves_on(
    ray: ServiceStage, sdk: AsyncClient
) -> None:
    async with ray.operator():
        await sdk.settle(await sdk.apply(_workers("rayproject/ray:1"), strategy="rolling-workers"))
        first = await ray.serving()
        old, stays = uids(await ray.pods("small")), uids(await ray.pods("headgroup")) | uids(await ray.pods("other"))
        wanted = _workers("rayproject/ray:2")
        plan = await sdk.plan(wanted, strategy="rolling-workers")
        assert plan.strongest == "RollingWorkers"
        assert [(one.group, one.pods) for one in plan.restarts] == [("small", 2)]
        await sdk.settle(await sdk.apply(wanted, strategy="rolling-workers"))
        pods = await ray.pods("small")
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"rayproject/ray:2"}
        assert not old & uids(pods)
        assert stays <= uids(await ray.pods())
        assert await ray.names() == {first} == {await ray.serving()}
        await sdk.settle(await sdk.rollout("rayservice/svc"))
        assert not uids(pods) & uids(await ray.pods("small"))
        assert await ray.serving() == first
        pods, wanted = await ray.pods("small"), {**wanted, "spec": (await ray.service())["spec"]}
        # an edit of the head waits, whatever the annotation says: its workers would be of another version
        both = changed(wanted, "spec.rayClusterConfig.headGroupSpec.template.spec.containers.0.image", "x:2")
        assert (await sdk.plan(both, strategy="rolling-workers")).strongest == "NextCluster"
        await sdk.apply(both, strategy="rolling-workers")
        await ray.until("Drifted", "True", "UpgradeStrategyNone")
        assert uids(await ray.pods("small")) == uids(pods)


async def test_workers_that_never_run_end_the_wait_and_are_taken_back(ray: ServiceStage, sdk: AsyncClient) -> None:
    ray.kubelet.starts = lambda pod: pod.spec.containers[0].image != "never:1"
    async with ray.operator():
        body = _workers("rayproject/ray:1", groups=1)
        await sdk.settle(await sdk.apply(body, strategy="rolling-workers"))
        before = uids(await ray.pods())
        await ray.annotate(progress_deadline="1s")
        image = "spec.rayClusterConfig.workerGroupSpecs.0.template.spec.containers.0.image"
        broken = await sdk.apply(changed(body, image, "never:1"), strategy="rolling-workers")
        with pytest.raises(RolloutFailed, match="ProgressDeadlineExceeded"):
            await sdk.settle(broken, on_failure="hold")
        assert len(before & uids(await ray.pods())) == 2, "one worker was tried, and no more"
        await ray.annotate(progress_deadline=None)
        _, written = await sdk.undo("rayservice/svc")
        await sdk.settle(written)
        images = [pod["spec"]["containers"][0]["image"] for pod in await ray.pods("small")]
        assert images == ["rayproject/ray:1"] * 2
