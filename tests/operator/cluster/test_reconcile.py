"""The operator on an API server, with a simulated kubelet: what users do to RayClusters."""

from __future__ import annotations

import pytest

from tests.operator.stage import Stage, condition, manifest

pytestmark = pytest.mark.anyio


async def test_a_cluster_becomes_ready(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        cluster = await ray.until_state("ready")
    status = cluster["status"]
    assert status["desiredWorkerReplicas"] == status["availableWorkerReplicas"] == status["readyWorkerReplicas"] == 2
    assert (status["desiredCPU"], status["desiredMemory"]) == ("3", "3Gi")
    (head,) = await ray.pods("headgroup")
    assert status["head"]["podName"] == head["metadata"]["name"]
    assert status["head"]["podIP"] == head["status"]["podIP"]
    assert status["head"]["serviceName"] == "plain-head-svc"
    assert status["endpoints"]["dashboard"] == "8265"
    assert condition(cluster, "HeadPodReady")["reason"] == "HeadPodRunningAndReady"
    assert condition(cluster, "RayClusterProvisioned")["reason"] == "AllPodRunningAndReadyFirstTime"
    assert condition(cluster, "RayClusterSuspended")["status"] == "False"
    assert condition(cluster, "Ready")["status"] == "True"
    assert list(status["stateTransitionTimes"]) == ["ready"]


async def test_scaling_makes_and_deletes_workers(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        before = {pod["metadata"]["uid"] for pod in await ray.pods()}
        await ray.patch([{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 4}])
        await ray.until_pods(5)
        assert before <= {pod["metadata"]["uid"] for pod in await ray.pods()}
        await ray.patch([{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 1}])
        await ray.until_pods(2)
