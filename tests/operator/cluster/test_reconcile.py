"""The operator on an API server, with a simulated kubelet: what users do to RayClusters, and what they are told."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.resource import INGRESSES, JOBS, PODS, ROLE_BINDINGS, ROLES, SECRETS, SERVICES, Resource
from tests.operator.service.heads import PodHeads
from tests.operator.stage import GROUPS, Stage, condition, group, manifest, put, template, uids

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


async def test_a_plain_cluster_costs_nine_calls(ray: Stage) -> None:
    calls: list[Request] = []

    def observe(request: Request, status: int) -> None:
        if request.method != "GET":
            calls.append(request)

    async with Client.connect(ray.access, observe=observe) as client, ray.operator(client):
        await ray.create(manifest(groups=[group(replicas=3)]))
        await ray.until_state("ready")
        await ray.until_reasons("CreatedHeadPod", "CreatedWorkerPod")
    kinds = sorted(request.target.split("?")[0].split("/")[-1] for request in calls)
    # Two, where pods start together; each pod that is late may be told on the way.
    assert 1 <= kinds.count("status") <= 2 + 4
    assert [kind for kind in kinds if kind != "status"] == ["events"] * 2 + ["pods"] * 4 + ["services"]


async def test_a_ray_that_is_not_the_one_written_is_told_for_no_call_of_the_server(ray: Stage) -> None:
    calls: list[str] = []

    def observe(request: Request, status: int) -> None:
        calls.append(request.target)

    ray.reach = PodHeads()
    head = {"rayStartParams": {}, "template": template(image="ray")}
    async with Client.connect(ray.access, observe=observe) as client, ray.operator(client):
        await ray.create(manifest(rayVersion="2.9.0", headGroupSpec=head, groups=[]))
        told = await ray.until_condition("RayVersionMismatch", status="True", reason="Dashboard")
        assert told["message"] == "the head runs Ray 2.60.0, but spec.rayVersion is 2.9.0: write the version that runs"
        await ray.patch({"spec": {"rayVersion": "2.60.0"}})
        await ray.until_condition("RayVersionMismatch", status="False", reason="InAgreement")
    assert not [target for target in calls if "/proxy" in target or "/secrets/" in target]


async def test_suspend_frees_all_pods_and_resume_brings_them_back(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        await ray.patch({"spec": {"suspend": True}})
        cluster = await ray.until_state("suspended")
        assert await ray.objects(PODS) == []
        assert condition(cluster, "RayClusterSuspended")["status"] == "True"
        assert condition(cluster, "RayClusterSuspending")["status"] == "False"
        assert condition(cluster, "RayClusterProvisioned")["status"] == "False"
        assert [service["metadata"]["name"] for service in await ray.objects(SERVICES)] == ["plain-head-svc"]
        # The field is taken away, not set to false.
        await ray.patch({"spec": {"suspend": None}})
        cluster = await ray.until_state("ready")
        assert condition(cluster, "RayClusterSuspended")["status"] == "False"
        assert set(cluster["status"]["stateTransitionTimes"]) == {"ready", "suspended"}


async def test_a_suspended_cluster_is_never_started(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(suspend=True))
        await ray.until_state("suspended")
        assert await ray.objects(PODS) == []


async def test_a_changed_template_shows_as_drift_and_touches_no_pod(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        before = uids(await ray.pods())
        image = f"{GROUPS}/0/template/spec/containers/0/image"
        await ray.patch(put(image, "rayproject/ray:2.53.0"))
        drifted = await ray.until_condition("Drifted", status="True")
        assert "workerGroupSpecs[small].spec.containers[ray].image" in drifted["message"]
        assert uids(await ray.pods()) == before
        await ray.patch(put(image, "rayproject/ray:2.52.0"))
        await ray.until_condition("Drifted", status="False")


async def test_a_refused_edit_is_told_and_changes_nothing(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        env = "/spec/headGroupSpec/template/spec/containers/0/env"
        await ray.patch(put(env, [{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}]))
        refused = await ray.until_condition("Accepted", status="False")
        assert refused["reason"] == "InvalidSpec"
        assert "spec.headGroupSpec" in refused["message"]
        cluster = await ray.cluster()
        assert cluster["status"]["observedGeneration"] == cluster["metadata"]["generation"]
        assert condition(cluster, "Stalled")["reason"] == "InvalidSpec"
        assert condition(cluster, "Ready")["observedGeneration"] < cluster["metadata"]["generation"]
        assert cluster["status"]["state"] == "ready"
        assert len(await ray.pods()) == 3
        await ray.until_reasons("InvalidRayClusterSpec")
        await ray.patch([{"op": "remove", "path": env}])
        await ray.until_condition("Accepted", status="True")


async def test_the_head_service_follows_the_spec(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        ports = [{"name": "dashboard", "containerPort": 9265}, {"name": "gcs-server", "containerPort": 6379}]
        await ray.patch(put("/spec/headGroupSpec/template/spec/containers/0/ports", ports))

        async def moved() -> bool:
            endpoints = (await ray.cluster())["status"]["endpoints"]
            return endpoints == {"dashboard": "9265", "gcs-server": "6379", "metrics": "8080"}

        await ray.eventually(moved)
        # Without an address of its own it cannot become a NodePort: it is made anew.
        await ray.patch(put("/spec/headGroupSpec/serviceType", "NodePort"))

        async def node_port() -> bool:
            services = await ray.objects(SERVICES)
            return [found["spec"]["type"] for found in services if found["spec"]["clusterIP"] != "None"] == ["NodePort"]

        await ray.eventually(node_port)
        await ray.until_pods(3)


async def test_what_belongs_to_a_cluster_is_made_again_and_goes_with_the_spec(ray: Stage) -> None:
    async with ray.operator():
        head = {"rayStartParams": {}, "template": template(), "enableIngress": True}
        await ray.create(manifest(headGroupSpec=head, authOptions={"mode": "token"}))
        await ray.until_pods(3)
        (ingress,) = await ray.objects(INGRESSES)
        (secret,) = [found for found in await ray.objects(SECRETS) if found["metadata"]["name"] == "plain"]
        await ray.client.delete(SECRETS, "plain", ray.namespace)
        await ray.client.delete(INGRESSES, ingress["metadata"]["name"], ray.namespace)

        async def made_again() -> bool:
            new = uids(await ray.objects(SECRETS)) | uids(await ray.objects(INGRESSES))
            return len(await ray.objects(INGRESSES)) == 1 and not new & uids([ingress, secret])

        await ray.eventually(made_again)
        await ray.patch({"spec": {"headGroupSpec": {"enableIngress": False}}})

        async def gone() -> bool:
            return await ray.objects(INGRESSES) == []

        await ray.eventually(gone)


async def test_a_quota_is_told_and_what_fits_runs(ray: Stage) -> None:
    quota = {"metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}}
    resource = Resource("", "v1", "resourcequotas", "ResourceQuota")
    await ray.client.create(resource, {"apiVersion": "v1", "kind": "ResourceQuota", **quota}, ray.namespace)
    used = {"status": {"hard": {"pods": "2"}, "used": {"pods": "0"}}}
    await ray.client.patch(resource, "two", used, PatchType.MERGE, ray.namespace, subresource="status")
    async with ray.operator():
        await ray.create(manifest())
        failed = await ray.until_condition("ReplicaFailure", status="True")
        assert failed["reason"] == "FailedCreateWorkerPod"
        assert "exceeded quota: two" in failed["message"]
        assert len(await ray.pods()) == 2
        await ray.client.delete(resource, "two", ray.namespace)
        await ray.until_pods(3)
        assert condition(await ray.cluster(), "ReplicaFailure") == {}


async def test_a_pod_that_no_node_can_take_is_told(ray: Stage) -> None:
    ray.kubelet.starts = lambda pod: pod.metadata.label(labels.NODE_TYPE) == labels.HEAD
    async with ray.operator():
        await ray.create(manifest(groups=[group(replicas=1)]))

        async def bound() -> bool:
            # which says of itself that it is scheduled
            return [bool(pod["spec"].get("nodeName")) for pod in await ray.pods("small")] == [True]

        await ray.eventually(bound)
        (pod,) = await ray.pods("small")
        unfit = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
        }
        status = {"status": {"phase": "Pending", "conditions": [unfit]}}
        name = pod["metadata"]["name"]
        await ray.client.patch(PODS, name, status, PatchType.MERGE, ray.namespace, subresource="status")
        ready = await ray.until_condition("Ready", reason="Unschedulable")
        assert name in ready["message"]
        assert "Insufficient nvidia.com/gpu" in ready["message"]


async def test_a_cluster_managed_by_another_is_left_alone(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest("other", managedBy="kueue.x-k8s.io/multikueue"))
        await ray.create(manifest())
        await ray.until_pods(3)
        assert "status" not in await ray.cluster("other")


async def test_a_deleted_cluster_leaves_nothing(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"}))
        await ray.until_pods(3)
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def nothing_left() -> bool:
            left = [await ray.objects(resource) for resource in (RAY_CLUSTERS, PODS, SERVICES, ROLES, ROLE_BINDINGS)]
            return not any(left)

        await ray.eventually(nothing_left)


async def test_keys_in_redis_are_removed_before_the_cluster_goes(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"}))
        await ray.until_pods(3)
        assert (await ray.cluster())["metadata"]["finalizers"] == [labels.REDIS_CLEANUP_FINALIZER]
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def cleaning() -> bool:
            return len(await ray.objects(JOBS)) == 1

        await ray.eventually(cleaning)
        assert [pod for pod in await ray.pods() if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD] == []
        (job,) = await ray.objects(JOBS)
        await ray.finish(job["metadata"]["name"])

        async def gone() -> bool:
            return await ray.objects(RAY_CLUSTERS) == []

        await ray.eventually(gone)
