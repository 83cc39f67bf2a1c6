"""RayJobs in queues: what they say, and whose quota a submitter holds."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.core.resource import PODS
from tests.operator.stage import condition
from tests.quota.gate.stage import GateStage

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
