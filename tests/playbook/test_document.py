"""Each procedure of the widely shared playbook for changing Ray's objects, done safely under our operator.

Where that playbook is wrong the test says what happens instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from rayward import AsyncClient
from rayward.changes.intents import SetField, SetImage
from rayward.changes.judging import State, judge
from rayward.changes.outcomes import Conflict, Invalid, JobFailed, RolledBack
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.access import Access
from rayward.kube.core.resource import PODS
from tests.kinds.clusters import changed
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.service.stage import ServiceStage, cluster_config, config, service
from tests.operator.stage import Object, Stage, condition, group, manifest, uids

pytestmark = pytest.mark.anyio
_TWO = config("app:two")


async def test_patterns_3_and_4_a_json_patch_and_a_replace(ray: ServiceStage, sdk: AsyncClient) -> None:
    """One by path, refused whole where its test fails; one that is made again on what another writer left."""
    body = service(upgradeStrategy={"type": "None"}, metadata={"labels": {"team": "search"}})
    async with ray.operator():
        await sdk.settle(await sdk.apply(body))
        first = await ray.serving()
        to_new_cluster = {"op": "replace", "path": "/spec/upgradeStrategy/type", "value": "NewCluster"}
        marked = {"op": "add", "path": "/metadata/labels/changedAt", "value": "2025-08-26"}
        moved = {"op": "test", "path": "/metadata/labels/team", "value": "ads"}
        with pytest.raises(Invalid):
            await sdk.json_patch("rayservice/svc", [moved, to_new_cluster, marked])
        assert (await ray.service())["spec"]["upgradeStrategy"] == {"type": "None"}
        await sdk.settle(await sdk.json_patch("rayservice/svc", [to_new_cluster, marked]))
        assert (await ray.service())["metadata"]["labels"] == {"team": "search", "changedAt": "2025-08-26"}

        def serves_two(live: Object) -> Object:
            live["spec"]["serveConfigV2"] = _TWO
            return live

        def owned(live: Object) -> Object:
            live["metadata"]["labels"]["owner"] = "platform"
            return live

        await asyncio.gather(sdk.replace("rayservice/svc", serves_two), sdk.replace("rayservice/svc", owned))
        await sdk.wait("rayservice/svc")
        assert (await ray.service())["metadata"]["labels"]["owner"] == "platform"
        assert (await ray.serving(), ray.heads.words(first)) == (first, b"two")


async def test_a1_another_serve_config_by_a_new_cluster(ray: ServiceStage, sdk: AsyncClient) -> None:
    """Not by upgradeStrategy alone, as the playbook says: KubeRay and Rayward send such an edit to what serves."""
    body = service(upgradeStrategy={"type": "NewCluster"}, rayClusterDeletionDelaySeconds=0)
    async with ray.operator():
        await sdk.settle(await sdk.apply(body))
        first = await ray.serving()
        plan = await sdk.plan(changed(body, "spec.serveConfigV2", _TWO))
        assert plan.strongest == "InPlace"
        written = await sdk.apply(changed(body, "spec.serveConfigV2", _TWO), strategy="new-cluster")
        await sdk.settle(written)
        second = await ray.serving()
        assert second != first
        await ray.until_names(lambda names: names == {second})
        assert ray.heads.words(second) == b"two"


async def test_a2_another_cluster_spec_by_a_new_cluster(ray: ServiceStage, sdk: AsyncClient) -> None:
    body = service(rayClusterDeletionDelaySeconds=0)
    async with ray.operator():
        made = await sdk.apply(body)
        await sdk.settle(made)
        first = await ray.serving()
        wanted = {**body, "spec": {**body["spec"], "rayClusterConfig": cluster_config("rayproject/ray:2")}}
        assert (await sdk.plan(wanted)).strongest == "NewCluster"
        await sdk.settle(await sdk.apply(wanted))
        await ray.until_names(lambda names: len(names) == 1 and first not in names)
        undo, written = await sdk.undo("rayservice/svc")
        assert undo.to.revision == 1
        await sdk.settle(written)
        assert (await ray.service())["spec"] == made.object["spec"]


async def test_a3_in_place_where_no_new_cluster_may_be_made(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await sdk.settle(await sdk.apply(service(), strategy="in-place"))
        first = await ray.serving()
        for path in ("app:two", "app:three"):
            wanted = changed(service(), "spec.serveConfigV2", config(path))
            waited = await sdk.settle(await sdk.apply(wanted, strategy="in-place"))
            assert waited.verdict.state is State.APPLIED
        assert await ray.serving() == first
        assert ray.heads.words(first) == b"three"


async def test_a4_a_tool_applies_the_serve_config_alone(ray: ServiceStage, sdk: AsyncClient) -> None:
    """It is told whose fields these are, takes them alone when it insists, and leaves the rest to their manager."""
    tool = AsyncClient(ray.client, namespace=ray.namespace, field_manager="ops-tool")
    only = {"upgradeStrategy": {"type": "NewCluster"}, "serveConfigV2": _TWO}
    part = {**service(), "spec": only}
    async with ray.operator():
        made = await sdk.apply(service())
        await sdk.settle(made)
        first = await ray.serving()
        with pytest.raises(Conflict) as refused:
            await tool.apply(part)
        assert "spec.serveConfigV2" in f"{refused.value.what}\n{refused.value.why}"
        with pytest.raises(Invalid):
            await sdk.apply(part)
        assert (await ray.service())["spec"] == made.object["spec"]
        written = await tool.apply(part, force_conflicts=True)
        assert written.object["spec"] == {**made.object["spec"], **only}
        await tool.settle(written)
        assert await ray.serving() == first
        assert ray.heads.words(first) == b"two"


async def test_b1_a_scale_loses_no_group(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[group("wg", 1), group("other", 1)]))
        await ray.until_pods(3)
        patch = {"spec": {"workerGroupSpecs": [{"groupName": "wg", "replicas": 3}]}}
        with pytest.raises(Invalid, match="would drop") as refused:
            await sdk.merge_patch("raycluster/plain", patch)
        assert "other" in refused.value.why
        await sdk.settle(await sdk.scale("raycluster/plain", "wg", 3))
        assert (len(await ray.pods("wg")), len(await ray.pods("other"))) == (3, 1)


@pytest.mark.parametrize("strategy", ["rolling-workers", "recreate"])
async def test_b2_another_template_as_the_strategy_says(ray: ServiceStage, sdk: AsyncClient, strategy: str) -> None:
    async with ray.operator():
        await sdk.settle(await sdk.apply(manifest(groups=[group("wg", 2)])))
        before, head = uids(await ray.pods()), uids(await ray.pods("headgroup"))
        path = "spec.workerGroupSpecs.0.template.spec.containers.0.image"
        wanted = changed(manifest(groups=[group("wg", 2)]), path, "rayproject/ray:2.53.0")
        await sdk.settle(await sdk.apply(wanted, strategy=strategy))  # pyright: ignore[reportArgumentType]
        after = uids(await ray.pods())
        assert before & after == (head if strategy == "rolling-workers" else set())


async def test_b3_suspended_changed_and_resumed(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await sdk.settle(await sdk.apply(manifest()))
        before = uids(await ray.pods())
        await sdk.reassemble("raycluster/plain", SetImage("rayproject/ray:2.53.0"))
        await sdk.wait("raycluster/plain")
        pods = await ray.pods()
        assert not before & uids(pods)
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"rayproject/ray:2.53.0"}


async def test_b4_conditions_say_when_it_is_done(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await sdk.settle(await sdk.apply(manifest()))
        cluster = await ray.cluster()
        assert cluster["status"]["observedGeneration"] == cluster["metadata"]["generation"]
        # a reason that scripts take for a type is a type here too
        for kind in ("HeadPodReady", "HeadPodRunningAndReady"):
            assert condition(cluster, kind)["status"] == "True"
        assert judge("RayCluster", cluster, cluster["metadata"]["generation"] + 1).state is State.PROGRESSING


@pytest.fixture
async def jobs(access: Access) -> AsyncGenerator[JobStage]:
    async with JobStage.on(access) as made:
        yield made


async def test_c_a_job_is_suspended_edited_and_run(jobs: JobStage) -> None:
    sdk = AsyncClient(jobs.client, namespace=jobs.namespace)
    async with jobs.operator():
        await sdk.apply(ray_job("run", shutdownAfterJobFinishes=True))

        async def runs() -> bool:
            found = await jobs.client.get(RAY_JOBS, "train", jobs.namespace)
            return (found.get("status") or {}).get("jobStatus") == "RUNNING"

        await jobs.eventually(runs)
        plan = await sdk.plan(ray_job("succeed", shutdownAfterJobFinishes=True))
        assert plan.strongest == "NextCluster", "an edit alone restarts nothing"
        await sdk.edit("rayjob/train", SetField("entrypoint", "succeed"))
        waited = await sdk.wait("rayjob/train")
        assert waited.object["status"]["jobDeploymentStatus"] == "Complete"


async def test_c_a_job_is_run_again_by_another_name(jobs: JobStage) -> None:
    """As the playbook says of one that failed; what is left of that one stays to be looked at."""
    sdk = AsyncClient(jobs.client, namespace=jobs.namespace)
    async with jobs.operator():
        failed = await sdk.apply(ray_job("fail"))
        with pytest.raises(JobFailed):
            await sdk.settle(failed)
        again = await sdk.rerun("rayjob/train")
        assert again["metadata"]["name"] == "train-2"
        assert again["spec"]["entrypoint"] == "fail"
        with pytest.raises(JobFailed):
            await sdk.wait("rayjob/train-2")
        found = await jobs.client.get(RAY_JOBS, "train", jobs.namespace)
        assert found["metadata"]["uid"] == failed.object["metadata"]["uid"]
        assert found["status"]["jobStatus"] == "FAILED"


async def test_rollback_of_a_release_that_fails(ray: ServiceStage, sdk: AsyncClient) -> None:
    """The operator leaves the old cluster in traffic; that the spec goes back too is the client's."""
    async with ray.operator():
        made = await sdk.apply(service())
        await sdk.settle(made)
        first = await ray.serving()
        broken = changed(service(), "spec.serveConfigV2", config("app:broken"))
        broken = changed(broken, "spec.rayClusterConfig.rayVersion", "2.53.0")
        with pytest.raises(RolledBack):
            await sdk.settle(await sdk.apply(broken))
        assert (await ray.service())["spec"] == made.object["spec"]
        assert (await ray.serving(), ray.heads.words(first)) == (first, b"one")


async def test_tips_a_forced_reconcile_and_deletion_in_the_foreground(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await sdk.settle(await sdk.apply(manifest()))
        before = uids(await ray.pods())
        written = await sdk.reconcile("raycluster/plain")
        assert labels.RESTARTED_AT in written.object["metadata"]["annotations"]
        assert written.object["metadata"]["generation"] == 1
        assert uids(await ray.pods()) == before
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace, propagation_policy="Foreground")

        async def gone() -> bool:
            return not await ray.objects(RAY_CLUSTERS)

        await ray.eventually(gone)
        assert not await ray.objects(PODS), "children go first"
