"""Three API servers: quota is taken on the manager cluster and on a worker cluster before an edit reaches it."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import CLUSTER_QUEUES, RAY_SERVICES, WORKLOADS
from rayward.kube.client.errors import NotFound
from tests.operator.stage import condition
from tests.quota.gate.stage import group, queued_service, release
from tests.quota.multicluster.stage import KUEUE_TOO, MulticlusterStage, priority_workload

pytestmark = pytest.mark.anyio
kueue_too = pytest.mark.parametrize("admission", KUEUE_TOO, indirect=True)


async def test_a_service_comes_up_on_a_worker_cluster_once_both_clusters_have_quota(
    clusters: MulticlusterStage,
) -> None:
    await clusters.quota(1)
    async with clusters.running():
        await clusters.create()
        await clusters.until_told("False", "WaitingForWorkerCluster", "worker cluster")
        assert await clusters.remote_image(clusters.east) == ""
        await clusters.west.queue(1)
        await clusters.until_done("1", clusters.west)
        whole = await clusters.service()
        assert whole["metadata"]["annotations"][labels.WORKER_CLUSTER] == clusters.worker("west")
        assert await clusters.remote_image(clusters.east) == ""
        assert not await clusters.east.workloads()
        assert await clusters.west.used() == 1


@kueue_too
async def test_an_upgrade_waits_for_the_managers_quota_and_nothing_of_it_reaches_the_worker_cluster(
    clusters: MulticlusterStage,
) -> None:
    await clusters.quota(1, east=2)
    async with clusters.running():
        await clusters.create()
        await clusters.until_done("1", clusters.east)
        old = await clusters.east.serving()
        await clusters.upgrade("rayproject/ray:2")
        await clusters.until_told("False", "Pending")
        assert await clusters.remote_image(clusters.east) == "1"
        assert (await clusters.service())["status"]["observedGeneration"] == 1
        assert condition(await clusters.service(), "Reconciling")["status"] == "True"
        await clusters.queue(2)
        await clusters.until_done("2", clusters.east)
        assert await clusters.east.serving() != old


@kueue_too
async def test_an_upgrade_waits_for_the_worker_clusters_quota(clusters: MulticlusterStage) -> None:
    await clusters.quota(2, east=1, west=2)
    async with clusters.running():
        await clusters.create()
        await clusters.until_done("1", clusters.east)
        await clusters.upgrade("rayproject/ray:2")
        await clusters.until_told("False", "WaitingForWorkerCluster", clusters.worker("east"))
        assert await clusters.remote_image(clusters.east) == "1"
        # the other one has room, but the old release runs here
        assert not await clusters.west.workloads()
        await clusters.east.queue(2)
        await clusters.until_done("2", clusters.east)


async def test_a_revert_while_an_upgrade_waits_costs_nothing(clusters: MulticlusterStage) -> None:
    await clusters.quota(1, east=2)
    async with clusters.running():
        await clusters.create()
        await clusters.until_done("1", clusters.east)
        old = await clusters.east.serving()
        for image in ("rayproject/ray:2", "rayproject/ray:3"):
            await clusters.upgrade(image)
            await clusters.until_told("False", "Pending")
        await clusters.upgrade("rayproject/ray:1")
        await clusters.until_done("1", clusters.east)
        assert await clusters.east.names() == {old}


@kueue_too
async def test_an_upgrade_that_is_preempted_on_the_manager_cluster_stops_and_the_old_release_serves_on(
    clusters: MulticlusterStage,
) -> None:
    await clusters.quota(2, east=3, preemption={"withinClusterQueue": "LowerPriority"})
    async with clusters.running():
        await clusters.create()
        await clusters.until_done("1", clusters.east)
        old = await clusters.east.serving()
        await clusters.annotate(pause="true")
        await clusters.east.until_next_second()
        await clusters.upgrade("rayproject/ray:2")
        new = next(iter(await clusters.east.until_names(lambda names: len(names) == 2) - {old}))
        await clusters.east.until_pods_of(new, 1)
        await clusters.client.create(WORKLOADS, priority_workload(clusters.namespace, 1), clusters.namespace)
        await clusters.east.until_pods_of(new, 0)
        assert await clusters.east.serving() == old
        assert len(await clusters.east.pods_of(old)) == 1
        await clusters.client.delete(WORKLOADS, "urgent", clusters.namespace)
        await clusters.east.until_pods_of(new, 1)
        await clusters.annotate(pause=None)
        await clusters.until_done("2", clusters.east)


async def test_a_worker_cluster_that_is_lost_is_left_alone_until_it_answers_again(clusters: MulticlusterStage) -> None:
    await clusters.quota(2, east=2, west=2)
    async with clusters.running():
        await clusters.create()
        await clusters.until_done("1", clusters.east)
        await clusters.lose("east")
        await clusters.upgrade("rayproject/ray:2")
        await clusters.until_told("False", "WorkerUnreachable", clusters.worker("east"))
        assert not await clusters.west.workloads()
        assert await clusters.remote_image(clusters.east) == "1"
        await clusters.find("east")
        await clusters.until_done("2", clusters.east)


@kueue_too
async def test_more_workers_are_admitted_on_the_manager_cluster_before_they_reach_the_worker_cluster(
    clusters: MulticlusterStage,
) -> None:
    await clusters.quota(2, east=5)
    async with clusters.running():
        await clusters.create(groups=[group(replicas=1)])
        await clusters.until_done("1", clusters.east)
        [cluster] = await clusters.east.names()
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=2)]))
        await clusters.until_told("False", "Pending")
        assert len(await clusters.east.pods_of(cluster)) == 2
        await clusters.queue(3)
        await clusters.east.until_pods_of(cluster, 3)
        await clusters.until_done("1", clusters.east)


@kueue_too
async def test_fewer_workers_give_the_managers_quota_back_when_their_pods_are_gone(clusters: MulticlusterStage) -> None:
    await clusters.quota(4, east=5)
    async with clusters.running():
        await clusters.create(groups=[group(replicas=3)])
        await clusters.until_done("1", clusters.east)
        [cluster] = await clusters.east.names()
        await clusters.client.create(WORKLOADS, priority_workload(clusters.namespace, 2), clusters.namespace)
        clusters.east.kubelet.ends = lambda pod: False
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=1)]))
        await clusters.until_remote_replicas(clusters.east, 1)
        assert await clusters.held() == 4, "its pods still run"
        clusters.east.kubelet.ends = lambda pod: True
        clusters.east.kubelet.look_again()
        await clusters.until_held(2)
        await clusters.until_urgent_is_admitted()
        assert len(await clusters.east.pods_of(cluster)) == 2


@kueue_too
async def test_a_wish_for_more_workers_that_waits_may_become_smaller_and_go(clusters: MulticlusterStage) -> None:
    await clusters.quota(2, east=6)
    async with clusters.running():
        await clusters.create(groups=[group(replicas=1)])
        await clusters.until_done("1", clusters.east)
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=5)]))
        await clusters.until_asked(6)
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=2)]))
        await clusters.until_asked(3)
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=1)]))
        await clusters.until_done("1", clusters.east)
        assert await clusters.held() == 2
        assert await clusters.east.used() == 2


async def test_another_service_of_that_name_on_the_worker_cluster_is_never_taken_over(
    clusters: MulticlusterStage,
) -> None:
    await clusters.quota(2, east=2)
    theirs = queued_service()
    theirs["metadata"]["labels"] = {}
    await clusters.east.create(theirs)
    async with clusters.running():
        await clusters.create()
        await clusters.until_told("False", "NameConflict")
        found = await clusters.east.service()
        assert labels.MULTICLUSTER_UID not in (found["metadata"].get("annotations") or {})


@kueue_too
async def test_a_deleted_service_goes_on_the_worker_cluster_first_and_its_quota_returns_on_both(
    clusters: MulticlusterStage,
) -> None:
    await clusters.quota(1, east=1)
    async with clusters.running():
        await clusters.create()
        await clusters.until_done("1", clusters.east)
        await clusters.client.delete(RAY_SERVICES, "svc", clusters.namespace)

        async def gone() -> bool:
            try:
                await clusters.service()
            except NotFound:
                return not await clusters.claims() and not await clusters.east.workloads()
            return False

        await clusters.east.eventually(gone)
        assert await clusters.remote_image(clusters.east) == ""
        queue = await clusters.client.get(CLUSTER_QUEUES, clusters.namespace)
        assert queue["spec"]["resourceGroups"]
