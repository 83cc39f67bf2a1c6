"""RayJobs in queues: what they say, and whose quota a submitter holds."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.core.resource import PODS
from tests.operator.stage import condition
from tests.quota.gate.stage import ENGINES, GateStage, cpus, group

pytestmark = pytest.mark.anyio


async def test_a_job_says_itself_what_it_waits_for_and_who_holds_it(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        await ray.create_job("train", head=1)

        async def quota(status: str, *words: str) -> bool:
            found = condition(await ray.client.get(RAY_JOBS, "train", ray.namespace), "QuotaReserved")
            return found.get("status") == status and all(word in found["message"] for word in words)

        held = f"held by RayCluster {ray.namespace}/one"
        await ray.eventually(lambda: quota("False", "RayCluster train-", "Needs cpu 1", held))
        await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)
        await ray.eventually(lambda: quota("True", "Quota is reserved for pods"))


async def test_pods_of_a_cluster_that_was_deleted_with_cascade_orphan_keep_their_quota(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace, propagation_policy="Orphan")

        async def orphaned() -> bool:
            return not any(pod["metadata"].get("ownerReferences") for pod in await ray.pods_of("one"))

        await ray.eventually(orphaned)
        await ray.create_cluster("two")
        await ray.until_quota("two", "False", "Pending", f"held by RayCluster {ray.namespace}/one")
        (pod,) = await ray.pods_of("one")
        assert pod["metadata"]["annotations"][labels.WORKLOAD]
        await ray.client.delete(PODS, pod["metadata"]["name"], ray.namespace)
        await ray.until_pods_of("two", 1)


_BOTH = pytest.mark.parametrize("engine", ENGINES, indirect=True)


async def _counted(ray: GateStage, name: str) -> dict[str, str]:
    """CPUs by pod set of the only Workload, as it was admitted."""
    found = []

    async def admitted() -> bool:
        nonlocal found
        found = [one for one in await ray.workloads() if one["metadata"]["labels"][labels.CLUSTER].startswith(name)]
        return len(found) == 1 and condition(found[0], "Admitted").get("status") == "True"

    await ray.eventually(admitted)
    assigned = found[0]["status"]["admission"]["podSetAssignments"]
    return {one["name"]: one["resourceUsage"]["cpu"] for one in assigned}


@_BOTH
async def test_a_submitter_of_its_own_is_counted_beside_the_cluster(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create_job("train", head=1, mode="K8sJobMode")
        await ray.until_job_waits("train")
        assert not await ray.pods()
        await ray.queue("1500m")
        assert await _counted(ray, "train") == {"head": "1", "submitter": "500m"}
        await ray.until_workload_pods("train", 1)
        await ray.create_cluster("other", cpu="500m")
        await ray.until_quota("other", "False", message="held by RayJob")


@_BOTH
async def test_a_submitter_in_the_head_is_counted_with_it(ray: GateStage) -> None:
    await ray.queue(1)
    async with ray.operator():
        await ray.create_job("train", head=1, mode="SidecarMode")
        await ray.until_job_waits("train")
        await ray.queue(2)
        counted = await _counted(ray, "train")
        await ray.until_workload_pods("train", 1)
        (head,) = await ray.pods()
        assert len(head["spec"]["containers"]) == 2
        assert counted == {"head": "1500m"}
        assert cpus(head) == 1.5


@_BOTH
async def test_the_autoscaler_beside_the_head_is_counted_and_what_it_asks_for_waits_for_a_slice(ray: GateStage) -> None:
    await ray.queue("2500m")
    async with ray.operator(), ray.within(3.5):
        await ray.create_cluster("one", enableInTreeAutoscaling=True, groups=[group(replicas=1)])
        assert await _counted(ray, "one") == {"head": "1500m", "w": "1"}
        await ray.until_pods_of("one", 2)
        assert await ray.used() == 2.5
        await ray.scale("one", 2)
        await ray.until_quota("one", "True", "ScaleUpWaiting")
        assert await ray.used() == 2.5
        await ray.queue("3500m")
        await ray.until_pods_of("one", 3)
