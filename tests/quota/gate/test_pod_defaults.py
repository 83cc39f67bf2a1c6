"""Quota counts what the API server adds to pods: defaults of a LimitRange, overhead of a RuntimeClass."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import LIMIT_RANGES, RUNTIME_CLASSES
from rayward.kube.machinery.podrequests import pod_requests
from rayward.kube.machinery.quantity import ZERO
from tests.operator.stage import template
from tests.quota.gate.stage import ENGINES, GateStage

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("engine", ENGINES, indirect=True)]


async def test_a_cluster_holds_what_its_pods_really_ask_for(ray: GateStage) -> None:
    limits = {"limits": [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1500m"}}]}
    await ray.client.create(
        LIMIT_RANGES,
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "usual"}, "spec": limits},
        ray.namespace,
    )
    runtime = {"handler": "runc", "overhead": {"podFixed": {"cpu": "250m"}}}
    await ray.client.create(
        RUNTIME_CLASSES,
        {"apiVersion": RUNTIME_CLASSES.api_version, "kind": "RuntimeClass", "metadata": {"name": ray.namespace}}
        | runtime,
    )
    await ray.queue(3)
    head = template()
    head["spec"]["runtimeClassName"] = ray.namespace
    del head["spec"]["containers"][0]["resources"]
    async with ray.operator():
        for name in ("one", "two"):
            body = {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "metadata": {"name": name, "labels": {labels.QUEUE_NAME: "q"}},
                "spec": {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": head}},
            }
            await ray.client.create(RAY_CLUSTERS, body, ray.namespace)
            if name == "one":
                await ray.until_pods_of("one", 1)
        waits = await ray.until_quota("two", "False", message="Needs cpu 1750m")
        assert "held by RayCluster" in waits["message"]
        (pod,) = await ray.pods_of("one")
        (assigned,) = (await ray.workload_of("one"))["status"]["admission"]["podSetAssignments"]
        asked = pod_requests(pod["spec"]).get("cpu", ZERO)
        assert assigned["resourceUsage"]["cpu"] == "1750m" == str(asked)
    await ray.client.delete(RUNTIME_CLASSES, ray.namespace)
