"""What happens in the middle of something else: edits, preemptions, stopped queues, lost pods."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES, WORKLOADS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS, PODS
from tests.operator.stage import condition
from tests.quota.gate.stage import ENGINES, KUEUE, GateStage, group, queued_service, release

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("engine", ENGINES, indirect=True)]

_HIGH = {"kueue.x-k8s.io/priority-class": "high"}
_IMAGE = "rayproject/ray:2"
_LOWER = {"withinClusterQueue": "LowerPriority"}


async def _serving(ray: GateStage) -> str:
    await ray.create(queued_service(groups=[group(replicas=1)], rayClusterDeletionDelaySeconds=0))
    return await ray.until_settled()


async def test_a_second_edit_after_the_first_was_admitted_takes_its_place(ray: GateStage) -> None:
    await ray.queue(4)
    async with ray.operator(), ray.within(4):
        old = await _serving(ray)
        first = await ray.upgrade_paused(image=_IMAGE, groups=[group(replicas=1)])
        await ray.until_pods_of(first, 2)
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:3", groups=[group(replicas=1)]))
        await ray.until_names(lambda found: bool(found - {old, first}))
        await ray.annotate(pause=None)
        assert await ray.until_settled() not in {old, first}


async def test_a_rollback_after_admission_holds_quota_until_the_pods_are_gone(ray: GateStage) -> None:
    await ray.queue(4)
    async with ray.operator(), ray.within(4):
        old = await _serving(ray)
        new = await ray.upgrade_paused(image=_IMAGE, groups=[group(replicas=1)])
        await ray.until_pods_of(new, 2)
        ray.kubelet.ends = lambda pod: pod.metadata.label(labels.CLUSTER) != new
        await ray.edit(rayClusterConfig=release(groups=[group(replicas=1)]))
        await ray.until_names(lambda found: found == {old})
        await ray.create_cluster("other", cpu=2)
        await ray.until_quota("other", "False", message="Needs cpu 2")
        held = await ray.workload_of(new)
        assert condition(held, names.QUOTA_RESERVED)["status"] == "True"
        ray.kubelet.ends = lambda pod: True
        ray.kubelet.look_again()
        await ray.until_pods_of("other", 1)
        assert await ray.serving() == old


async def test_a_release_that_waits_is_scaled_in_its_place_and_a_running_one_by_a_slice(ray: GateStage) -> None:
    await ray.queue(5)
    async with ray.operator(), ray.within(5):
        await _serving(ray)
        await ray.create_cluster("other")
        await ray.until_pods_of("other", 1)
        new = await ray.upgrade_paused(image=_IMAGE, groups=[group(replicas=2)])
        await ray.until_quota(new, "False", message="Needs cpu 3")
        asked = (await ray.workload_of(new))["metadata"]["uid"]
        await ray.scale(new, 1)
        await ray.until_pods_of(new, 2)
        assert (await ray.workload_of(new))["metadata"]["uid"] == asked
        await ray.scale(new, 2)
        await ray.until_quota(new, "True", "ScaleUpWaiting")
        chain = {one["metadata"]["annotations"][names.SLICE_NAME] for one in await ray.workloads(new)}
        assert len(chain) == 1
        await ray.client.delete(RAY_CLUSTERS, "other", ray.namespace)
        await ray.until_pods_of(new, 3)


async def test_a_service_that_loses_both_releases_comes_back_with_both(ray: GateStage) -> None:
    await ray.queue(4, preemption=_LOWER)
    await ray.priority("high", 100)
    async with ray.operator(), ray.within(4):
        old = await _serving(ray)
        new = await ray.upgrade_paused(image=_IMAGE, groups=[group(replicas=1)])
        await ray.until_pods_of(new, 2)
        await ray.create_cluster("urgent", cpu=4, labels=_HIGH)
        await ray.until_pods_of("urgent", 1)
        for cluster in (old, new):
            # Only preemption and failed nodes put a Workload in its queue again at once (jobframework/reconciler.go).
            waits = await ray.until_workload(cluster, names.REQUEUED, "True", names.BY_PREEMPTION)
            assert condition(waits, names.QUOTA_RESERVED)["status"] == "False"
            assert "admission" not in waits["status"]
        await ray.client.delete(RAY_CLUSTERS, "urgent", ray.namespace)
        await ray.until_pods_of(old, 2)
        await ray.until_pods_of(new, 2)
        await ray.annotate(pause=None)
        assert await ray.until_settled() == new


async def test_what_gate_and_engine_write_is_owned_by_one_manager(ray: GateStage) -> None:
    await ray.queue(1, preemption=_LOWER)
    await ray.priority("high", 100)
    async with ray.operator(), ray.within(1):
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        await ray.until_next_second()
        await ray.create_cluster("urgent", labels=_HIGH)
        await ray.until_pods_of("urgent", 1)
        waits = await ray.until_workload("one", names.REQUEUED, "True")
        owners = {one["manager"] for one in waits["metadata"]["managedFields"] if one.get("subresource") == "status"}
        assert owners == {names.ADMISSION_MANAGER}


async def test_a_stopped_queue_keeps_what_runs_and_a_drained_one_stops_it(ray: GateStage) -> None:
    await ray.queue(4)
    async with ray.operator(), ray.within(4):
        old = await _serving(ray)
        await ray.queue(4, stopPolicy="Hold")
        new = await ray.upgrade_paused(image=_IMAGE, groups=[group(replicas=1)])
        await ray.until_quota(new, "False", message="is not active")
        assert len(await ray.pods_of(old)) == 2
        await ray.queue(4)
        await ray.until_pods_of(new, 2)
        await ray.queue(4, stopPolicy="HoldAndDrain")
        for cluster in (old, new):
            await ray.until_workload(cluster, names.REQUEUED, "False", names.BY_CLUSTER_QUEUE_STOPPED)
            assert not await ray.pods_of(cluster)
        await ray.queue(4)
        await ray.until_pods_of(old, 2)
        await ray.until_pods_of(new, 2)


async def test_quota_lowered_during_an_upgrade_lets_the_old_release_serve_on(ray: GateStage) -> None:
    await ray.queue(2)
    async with ray.operator(), ray.within(4):
        old = await _serving(ray)
        await ray.queue(1)
        await ray.edit(rayClusterConfig=release(image=_IMAGE, groups=[group(replicas=1)]))
        await ray.until("QuotaReserved", "False", "ExceedsMaxQuota")
        assert len(await ray.pods_of(old)) == 2
        assert await ray.serving() == old
        await ray.queue(4)
        assert await ray.until_settled() != old


async def test_a_service_deleted_during_its_upgrade_leaves_nothing(ray: GateStage) -> None:
    await ray.queue(4)
    async with ray.operator():
        await _serving(ray)
        new = await ray.upgrade_paused(image=_IMAGE, groups=[group(replicas=1)])
        await ray.until_pods_of(new, 2)
        await ray.client.delete(RAY_SERVICES, "svc", ray.namespace)
        await ray.until_no_workloads()
        assert not await ray.objects(PODS)


async def test_an_admission_check_holds_pods_back_until_it_is_ready(ray: GateStage) -> None:
    await ray.add_check()
    await ray.queue(1, admissionChecksStrategy={"admissionChecks": [{"name": ray.namespace}]})
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_quota("one", "False", "WaitingForChecks", ray.namespace)
        assert not await ray.pods_of("one")
        await ray.answer_check("one", "Ready")
        await ray.until_pods_of("one", 1)
        # so that whoever admits knows that they came up
        await ray.until_workload("one", names.PODS_READY, "True", names.STARTED)


async def test_a_lost_worker_is_replaced_by_the_quota_it_had(ray: GateStage) -> None:
    await ray.queue(2)
    async with ray.operator(), ray.within(2):
        await ray.create_cluster("one", groups=[group(replicas=1)])
        await ray.until_pods_of("one", 2)
        held = (await ray.workload_of("one"))["metadata"]["uid"]
        (lost,) = await ray.pods("w")
        await ray.client.delete(PODS, lost["metadata"]["name"], ray.namespace)

        async def replaced() -> bool:
            return [pod["metadata"]["uid"] != lost["metadata"]["uid"] for pod in await ray.pods("w")] == [True]

        await ray.eventually(replaced)
        assert (await ray.workload_of("one"))["metadata"]["uid"] == held
        assert "GateViolation" not in {one["reason"] for one in await ray.objects(EVENTS)}


async def test_another_group_is_asked_for_by_a_workload_of_its_own(ray: GateStage) -> None:
    """A slice with one pod set more than the one it replaces stops Kueue's scheduler, which compares them by position.

    Kueue v0.18.2: pkg/scheduler/flavorassigner/flavorassigner.go.
    """
    await ray.queue(3)
    async with ray.operator(), ray.within(3):
        await ray.create_cluster("one", groups=[group(replicas=1)])
        await ray.until_pods_of("one", 2)
        more = [{"op": "add", "path": "/spec/workerGroupSpecs/-", "value": group("x", replicas=1)}]
        await ray.patch(more, "one")
        await ray.until_pods_of("one", 3)
        assert not [
            one for one in await ray.workloads("one") if names.SLICE_REPLACEMENT_FOR in one["metadata"]["annotations"]
        ]


async def test_quota_of_a_deleted_cluster_returns_with_its_last_pod(ray: GateStage) -> None:
    """Kueue finishes a Workload as soon as its controlling Ray owner is being deleted; ours is not controlled.

    Kueue v0.18.2: finalizeWorkloads in pkg/controller/jobframework/reconciler.go.
    """
    await ray.queue(1)
    async with ray.operator(), ray.within(1):
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        made = await ray.workload_of("one")
        assert made["metadata"]["finalizers"] == [labels.WORKLOAD_FINALIZER]
        assert [one.get("controller") for one in made["metadata"]["ownerReferences"]] == [False]
        assert names.JOB_UID not in made["metadata"]["labels"]
        ray.kubelet.ends = lambda pod: False
        await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)
        await ray.create_cluster("two")
        await ray.until_quota("two", "False", message="Needs cpu 1")
        held = await ray.workload_of("one")
        assert condition(held, names.QUOTA_RESERVED)["status"] == "True"
        ray.kubelet.ends = lambda pod: True
        ray.kubelet.look_again()
        await ray.until_pods_of("two", 1)


async def test_a_deactivated_workload_stops_its_cluster(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        ray.kubelet.ends = lambda pod: False
        name = (await ray.workload_of("one"))["metadata"]["name"]
        change = {"spec": {"active": False}}
        await ray.client.patch(WORKLOADS, name, change, PatchType.MERGE, ray.namespace)
        await ray.until_quota("one", "False", names.BY_DEACTIVATION)
        await ray.create_cluster("two")
        if ray.queueing is KUEUE:
            # Kueue v0.18.2 forgets an inactive Workload at once, whether its pods run or not
            # (WorkloadReconciler.Update in pkg/controller/core/workload_controller.go).
            await ray.until_pods_of("two", 1)
            assert await ray.used() == 2
        else:
            await ray.until_quota("two", "False", message="Needs cpu 1")
        ray.kubelet.ends = lambda pod: True
        ray.kubelet.look_again()
        await ray.until_pods_of("one", 0)
        await ray.until_pods_of("two", 1)
        await ray.client.delete(RAY_CLUSTERS, "two", ray.namespace)
        await ray.until_workload("one", names.REQUEUED, "False", names.BY_DEACTIVATION)
        await ray.client.patch(WORKLOADS, name, {"spec": {"active": True}}, PatchType.MERGE, ray.namespace)
        await ray.until_pods_of("one", 1)
