"""Upgrades, scaling, preemption and deletion, whoever admits: nothing runs beyond its quota, ever."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS
from tests.operator.stage import condition
from tests.quota.gate.stage import HERE_TOO, GateStage, group, queued_service, release

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("engine", HERE_TOO, indirect=True)
async def test_a_cluster_gets_its_pods_when_it_is_admitted_and_its_quota_returns_when_they_are_gone(
    ray: GateStage,
) -> None:
    await ray.queue(3)
    async with ray.operator():
        await ray.create_cluster("one", groups=[group()])
        await ray.until_pods_of("one", 3)
        await ray.create_cluster("two")
        waits = await ray.until_quota("two", "False", "Pending", "Needs cpu 1")
        assert f"held by RayCluster {ray.namespace}/one (cpu 3" in waits["message"]
        assert not await ray.pods_of("two")
        await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)
        await ray.until_pods_of("two", 1)
        await ray.client.delete(RAY_CLUSTERS, "two", ray.namespace)
        await ray.until_no_workloads()


@pytest.mark.parametrize("engine", HERE_TOO, indirect=True)
async def test_an_upgrade_waits_for_quota_while_the_old_release_serves_and_completes_when_there_is_some(
    ray: GateStage,
) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        found = await ray.until("QuotaReserved", "False", "ExceedsMaxQuota")
        assert f"cpu 1 beside 1 that RayService {ray.namespace}/svc holds and keeps, of 1 at most" in found["message"]
        assert await ray.serving() == old
        assert (await ray.conditions("Ready"))[0] == "True"
        await ray.queue(2)
        new = await ray.until_settled()
        assert new != old
        assert await ray.used() <= 2

        async def one_base_is_left() -> bool:
            return [one["metadata"]["labels"][labels.ROLE] for one in await ray.workloads()] == ["base"]

        await ray.eventually(one_base_is_left)


@pytest.mark.parametrize("engine", HERE_TOO, indirect=True)
async def test_more_workers_wait_for_a_slice_and_fewer_give_quota_back(ray: GateStage) -> None:
    await ray.queue(3)
    async with ray.operator():
        await ray.create_cluster("one", groups=[group(replicas=2)])
        await ray.until_pods_of("one", 3)
        await ray.scale("one", 3)
        await ray.until_quota("one", "True", "ScaleUpWaiting")
        assert len(await ray.pods_of("one")) == 3
        await ray.queue(4)
        await ray.until_pods_of("one", 4)
        await ray.scale("one", 0)
        await ray.until_pods_of("one", 1)
        await ray.create_cluster("two", cpu=3)
        await ray.until_pods_of("two", 1)


@pytest.mark.parametrize("engine", HERE_TOO, indirect=True)
async def test_a_preempted_surge_stops_and_the_old_release_serves_on(ray: GateStage) -> None:
    await ray.queue(2, preemption={"withinClusterQueue": "LowerPriority"})
    await ray.priority("high", 100)
    async with ray.operator():
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.annotate(pause="true")
        await ray.until_next_second()
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        new = next(iter(await ray.until_names(lambda names: len(names) == 2) - {old}))
        await ray.until_pods_of(new, 1)
        await ray.create_cluster("urgent", labels={"kueue.x-k8s.io/priority-class": "high"})
        await ray.until_pods_of("urgent", 1)
        assert not await ray.pods_of(new)
        assert await ray.serving() == old
        assert len(await ray.pods_of(old)) == 1
        assert condition(await ray.cluster(new), "QuotaReserved")["status"] == "False"


async def test_a_second_edit_while_one_waits_and_a_rollback_ask_for_nothing_twice(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create(queued_service())
        old = await ray.until_settled()
        for image in ("rayproject/ray:2", "rayproject/ray:3"):
            await ray.edit(rayClusterConfig=release(image=image))
            await ray.until("QuotaReserved", "False")
        await ray.until_names(lambda names: len(names) == 2)
        assert await ray.used() == 1
        await ray.edit(rayClusterConfig=release())
        await ray.until_names(lambda names: names == {old})

        async def alone() -> bool:
            return len(await ray.workloads()) == 1

        await ray.eventually(alone)
        assert await ray.serving() == old


async def test_a_forged_grant_is_taken_back_said_and_counted(ray: GateStage) -> None:
    await ray.queue(1)
    registry = CollectorRegistry()

    def violations() -> float | None:
        return registry.get_sample_value("rayward_gate_violations_total", {"namespace": ray.namespace})

    async with ray.operator(registry=registry):
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        await ray.create_cluster("two")
        await ray.until_quota("two", "False")
        assert not violations()
        uid = (await ray.cluster("two"))["metadata"]["uid"]
        shape = "0"
        forged = f'{{"uid":"{uid}","workload":"none","groups":{{"headgroup":{{"pods":1,"shape":"{shape}"}}}}}}'
        change = {"metadata": {"annotations": {labels.ADMITTED: forged}}}

        async def is_told() -> bool:
            # A grant that the gate was just writing may replace the forged one before the gate reads it: forge again.
            await ray.client.patch(RAY_CLUSTERS, "two", change, PatchType.MERGE, ray.namespace)
            return "GateViolation" in {event["reason"] for event in await ray.objects(EVENTS)}

        await ray.eventually(is_told)
        await ray.until_quota("two", "False")
        assert not await ray.pods_of("two")
        assert violations()


async def test_an_upgrade_that_never_fits_stops_the_old_release_where_the_policy_says_so(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        await ray.until("QuotaReserved", "False", "ExceedsMaxQuota")
        assert len(await ray.pods_of(old)) == 1
        await ray.annotate(upgrade_quota_policy="Recreate")
        assert await ray.until_settled() != old


async def test_an_upgrade_that_never_fits_is_given_up_where_the_policy_says_so(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create(queued_service(metadata_annotations={labels.QUOTA_POLICY: "Reject"}))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        await ray.until("Progressing", "False", "Aborted")
        await ray.until_names(lambda names: names == {old})
        assert await ray.serving() == old


async def test_the_release_that_serves_grows_while_an_upgrade_waits(ray: GateStage) -> None:
    await ray.queue(5)
    async with ray.operator():
        await ray.create(queued_service(groups=[group(replicas=1)]))
        old = await ray.until_settled()
        await ray.create_cluster("other", cpu=2)
        await ray.until_pods_of("other", 1)
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2", groups=[group(replicas=1)]))
        await ray.until("QuotaReserved", "False")
        await ray.scale(old, 2)
        await ray.until_pods_of(old, 3)
        assert await ray.used() == 5
        assert await ray.serving() == old


async def test_a_preempted_job_waits_for_its_turn_and_a_users_suspension_stays(ray: GateStage) -> None:
    await ray.queue(2, preemption={"withinClusterQueue": "LowerPriority"})
    await ray.priority("high", 100)
    async with ray.operator():
        await ray.create_job("train", head=1)
        await ray.until_workload_pods("train", 1)
        await ray.until_next_second()
        await ray.create_cluster("urgent", cpu=2, labels={"kueue.x-k8s.io/priority-class": "high"})
        await ray.until_pods_of("urgent", 1)
        await ray.until_job_waits("train")
        await ray.client.delete(RAY_CLUSTERS, "urgent", ray.namespace)
        await ray.until_workload_pods("train", 1)
        found = await ray.client.get(RAY_JOBS, "train", ray.namespace)
        assert labels.SUSPENDED_BY not in found["metadata"].get("annotations", {})
        assert not found["spec"].get("suspend")
