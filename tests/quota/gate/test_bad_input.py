"""Mistakes in queues and objects end in a condition and an event, and go on when they are corrected."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RAY_CLUSTERS
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS
from tests.quota.engine.building import groups
from tests.quota.gate.stage import FLAVOR, KUEUE, GateStage, group

pytestmark = pytest.mark.anyio


async def _until_event(ray: GateStage, cluster: str, reason: str, message: str = "") -> None:
    """Wait for a Warning about a RayCluster."""

    async def holds() -> bool:
        about = [one for one in await ray.objects(EVENTS) if one["involvedObject"]["name"] == cluster]
        return any((one["type"], one["reason"]) == ("Warning", reason) and message in one["message"] for one in about)

    await ray.eventually(holds)


async def _cohort(ray: GateStage, name: str, parent: str, **spec: Any) -> None:
    """A Cohort of this test alone."""
    body = {
        "apiVersion": COHORTS.api_version,
        "kind": COHORTS.kind,
        "metadata": {"name": f"{ray.namespace}-{name}"},
        "spec": {"parentName": f"{ray.namespace}-{parent}", **spec},
    }
    await ray.client.apply(COHORTS, body, field_manager="tests", force=True)


async def test_a_queue_that_is_not_there_is_named_and_may_come_later(ray: GateStage) -> None:
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_quota("one", "False", message=f"LocalQueue {ray.namespace}/q does not exist")
        await _until_event(ray, "one", "Inadmissible", f"LocalQueue {ray.namespace}/q does not exist")
        await ray.queue(1)
        await ray.until_pods_of("one", 1)


async def test_a_flavor_that_is_not_there_makes_the_queue_inactive_and_says_so(ray: GateStage) -> None:
    missing = [
        {
            "coveredResources": ["cpu", "memory"],
            "flavors": [
                {
                    "name": "none",
                    "resources": [{"name": "cpu", "nominalQuota": 5}, {"name": "memory", "nominalQuota": "9Gi"}],
                }
            ],
        }
    ]
    await ray.queue(1, resourceGroups=missing)
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_quota("one", "False", message="is not active")
        await _until_event(ray, "one", "Inadmissible", "missing ResourceFlavor(s): none")
        await ray.queue(1)
        await ray.until_pods_of("one", 1)


async def test_cohorts_in_a_circle_admit_nothing_until_it_is_broken(ray: GateStage) -> None:
    # The quota is in the circle's last link: nobody can admit by it who does not see the circle. And the queue is there
    # first: Kueue v0.18.2 does not cache one that is made inside a circle until somebody edits it
    # (Create in pkg/controller/core/clusterqueue_controller.go).
    await ray.queue(0, cohortName=f"{ray.namespace}-a")
    await _cohort(ray, "a", parent="b")
    await _cohort(ray, "b", parent="a", resourceGroups=groups({FLAVOR: {"cpu": 1, "memory": 0}}))
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_quota("one", "False", message="its cohort is its own ancestor")
        await _until_event(ray, "one", "Inadmissible", "its cohort is its own ancestor")
        await ray.client.patch(COHORTS, f"{ray.namespace}-b", {"spec": {"parentName": None}}, PatchType.MERGE)
        await ray.until_pods_of("one", 1)


async def test_a_negative_quota_makes_the_queue_inactive_or_is_refused(ray: GateStage) -> None:
    if ray.queueing is KUEUE:
        # Kueue's webhook refuses it (validateResourceQuantity in pkg/webhooks/clusterqueue_webhook.go, v0.18.2).
        with pytest.raises(Forbidden, match="must be greater than or equal to 0"):
            await ray.queue(-1)
        return
    await ray.queue(-1)
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_quota("one", "False", message="nominalQuota")
        await _until_event(ray, "one", "Inadmissible", "nominalQuota")
        await ray.queue(1)
        await ray.until_pods_of("one", 1)


async def test_a_priority_class_that_is_not_there_and_too_many_groups_are_told(ray: GateStage) -> None:
    await ray.queue(100)
    async with ray.operator():
        await ray.create_cluster("one", labels={"kueue.x-k8s.io/priority-class": f"{ray.namespace}-none"})
        await ray.until_quota("one", "False", "PriorityClassNotFound")
        await _until_event(ray, "one", "PriorityClassNotFound", f"{ray.namespace}-none does not exist")
        await ray.create_cluster("two", groups=[group(f"g{at}", replicas=0) for at in range(18)])
        found = await ray.until_quota("two", "False", "TooManyPodSets")
        assert "19 pod sets" in found["message"]
        await _until_event(ray, "two", "TooManyPodSets", "19 pod sets")
        assert not await ray.workloads()
        await ray.priority(f"{ray.namespace}-none", 1)
        await ray.patch({"metadata": {"labels": {"touched": "yes"}}}, "one")
        await ray.until_pods_of("one", 1)


async def test_a_queue_deleted_while_it_holds_workloads_loses_nothing(ray: GateStage) -> None:
    await ray.queue(2)
    async with ray.operator():
        await ray.create_cluster("one")
        await ray.until_pods_of("one", 1)
        await ray.client.delete(LOCAL_QUEUES, "q", ray.namespace)
        await ray.client.delete(CLUSTER_QUEUES, ray.namespace)
        await ray.create_cluster("two")
        await ray.until_quota("two", "False", message="does not exist")
        await _until_event(ray, "two", "Inadmissible", "does not exist")
        assert len(await ray.pods_of("one")) == 1
        if ray.queueing is KUEUE:
            # Kueue v0.18.2 keeps a deleted ClusterQueue, inactive, until its last Workload is gone
            # (its finalizer in pkg/controller/core/clusterqueue_controller.go).
            await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)
            await ray.until_deleted(CLUSTER_QUEUES, ray.namespace)
            await ray.queue(2)
            await ray.until_pods_of("two", 1)
            return
        await ray.queue(2)
        await ray.until_pods_of("two", 1)
        assert len(await ray.pods_of("one")) == 1
        assert {one["metadata"]["labels"][labels.CLUSTER] for one in await ray.workloads()} == {"one", "two"}
