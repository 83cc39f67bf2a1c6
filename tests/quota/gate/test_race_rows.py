"""More rows of the race table: what is edited, counted or preempted beside the gate changes nothing about its rule."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import JOBS, PODS
from tests.operator.stage import condition
from tests.quota.gate.stage import ENGINES, GateStage, group, queued_service, release, sized

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("engine", ENGINES, indirect=True)]

_IMAGE = "rayproject/ray:2"
_PRIORITY = "kueue.x-k8s.io/priority-class"


async def test_a_base_preempted_after_the_new_release_serves_takes_nothing_from_it(ray: GateStage) -> None:
    await ray.queue(2, preemption={"withinClusterQueue": "LowerPriority"})
    await ray.priority("high", 100)
    async with ray.operator(), ray.within(2):
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=3600))
        old = await ray.until_settled()
        change = {"metadata": {"labels": {_PRIORITY: "high"}}}
        await ray.client.patch(RAY_SERVICES, "svc", change, PatchType.MERGE, ray.namespace)
        await ray.until_next_second()
        await ray.edit(rayClusterConfig=release(image=_IMAGE))
        new = await ray.until_settled(clusters=2)
        assert new != old
        assert len(await ray.pods_of(old)) == 1
        await ray.priority("middle", 50)
        await ray.create_cluster("urgent", labels={_PRIORITY: "middle"})
        await ray.until_pods_of("urgent", 1)
        assert not await ray.pods_of(old)
        assert len(await ray.pods_of(new)) == 1
        assert await ray.serving() == new
        assert (await ray.conditions("Ready"))[0] == "True"


async def test_whoever_clears_the_suspend_of_the_template_or_of_the_child_opens_no_gate(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        async with ray.within(1):
            await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
            old = await ray.until_settled()
            await ray.edit(rayClusterConfig={**release(image=_IMAGE), "suspend": True})
            (new,) = await ray.until_names(lambda found: len(found) == 2) - {old}
            await ray.until_quota(new, "False", "Suspended")
            await ray.edit(rayClusterConfig={**release(image=_IMAGE), "suspend": False})
            await ray.patch({"spec": {"suspend": False}}, new)
            await ray.until_quota(new, "False", "ExceedsMaxQuota")
            assert not await ray.pods_of(new)
            assert await ray.serving() == old
        await ray.queue(2)
        assert await ray.until_settled() == new


async def test_replicas_of_several_hosts_are_granted_whole(ray: GateStage) -> None:
    await ray.queue(4)
    async with ray.operator(), ray.within(5):
        await ray.create_cluster("one", groups=[group(replicas=1, numOfHosts=2)])
        await ray.until_pods_of("one", 3)
        counts = {one["name"]: one["count"] for one in (await ray.workload_of("one"))["spec"]["podSets"]}
        assert counts == {"head": 1, "w": 2}
        await ray.scale("one", 2)
        await ray.until_quota("one", "True", "ScaleUpWaiting")
        assert len(await ray.pods_of("one")) == 3, "one host more would fit, and be of no use"
        await ray.queue(5)
        await ray.until_pods_of("one", 5)
        await ray.scale("one", 0)
        await ray.until_pods_of("one", 1)
        await ray.create_cluster("two", cpu=4)
        await ray.until_pods_of("two", 1)


async def test_the_job_that_cleans_redis_keeps_the_quota_of_its_cluster(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator(), ray.within(1):
        await ray.create_cluster("one", gcsFaultToleranceOptions={"redisAddress": "redis:6379"})
        await ray.until_pods_of("one", 1)
        await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)
        await ray.create_cluster("two")

        async def cleans() -> bool:
            return len(await ray.objects(JOBS)) == 1 and not await ray.pods_of("one")

        await ray.eventually(cleans)
        await ray.until_quota("two", "False", message="Needs cpu 1")
        (job,) = await ray.objects(JOBS)
        await ray.client.create(PODS, _cleanup_pod(job), ray.namespace)
        # with its cluster the job goes, and the collector deletes its pod: which ends when the test says so
        ray.kubelet.ends = lambda pod: False
        await ray.finish(job["metadata"]["name"])

        async def is_gone() -> bool:
            return [one["metadata"]["name"] for one in await ray.objects(RAY_CLUSTERS)] == ["two"]

        await ray.eventually(is_gone)
        held = await ray.workload_of("one")
        assert condition(held, names.QUOTA_RESERVED)["status"] == "True"
        assert not await ray.pods_of("two")
        await ray.client.delete(PODS, "cleanup", ray.namespace)
        ray.kubelet.ends = lambda pod: True
        ray.kubelet.look_again()
        await ray.until_pods_of("two", 1)


def _cleanup_pod(job: dict[str, Any]) -> dict[str, Any]:
    """The pod of a Job, as the controller of Jobs makes it."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
    metadata = {
        "name": "cleanup",
        "labels": {labels.CLUSTER: "one", labels.NODE_TYPE: labels.REDIS_CLEANUP},
        "ownerReferences": [{**owner, "controller": True}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": sized("500m")["spec"]}


async def test_incremental_is_said_to_come_later_and_the_upgrade_waits(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator(), ray.within(2):
        await ray.create(
            queued_service(rayClusterDeletionDelaySeconds=0, metadata_annotations={labels.QUOTA_POLICY: "Incremental"})
        )
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=release(image=_IMAGE))
        found = await ray.until("QuotaReserved", "False", "ExceedsMaxQuota")
        assert (
            f"{labels.QUOTA_POLICY}=Incremental comes with incremental upgrades; the upgrade waits" in found["message"]
        )
        assert await ray.serving() == old
        await ray.queue(2)
        assert await ray.until_settled() != old


async def test_another_version_of_the_operator_on_a_cluster_asks_for_nothing_new(ray: GateStage) -> None:
    await ray.queue(3)
    async with ray.operator(), ray.within(3):
        await ray.create_cluster("one", groups=[group(replicas=1)])
        await ray.until_pods_of("one", 2)
        asked = await ray.workload_of("one")
        before = {pod["metadata"]["uid"] for pod in await ray.pods_of("one")}
        await ray.patch({"metadata": {"annotations": {labels.OPERATOR_VERSION: "v0.0.1"}}}, "one")
        await ray.scale("one", 2)
        await ray.until_pods_of("one", 3)
        assert before < {pod["metadata"]["uid"] for pod in await ray.pods_of("one")}
        (grown,) = await ray.workloads("one")
        assert grown["metadata"]["annotations"][names.SLICE_NAME] == asked["metadata"]["annotations"][names.SLICE_NAME]
        assert [one["template"] for one in grown["spec"]["podSets"]] == [
            one["template"] for one in asked["spec"]["podSets"]
        ]
