"""The operator on an API server, with a simulated kubelet: what users do to RayClusters, and what happens to pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import (
    EVENTS,
    INGRESSES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from tests.operator.stage import Object, Stage, condition, group, manifest, template

pytestmark = pytest.mark.anyio

_GROUPS = "/spec/workerGroupSpecs"


def _replace(path: str, value: Any) -> list[Object]:
    return [{"op": "add", "path": path, "value": value}]


def _uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


async def _reasons(ray: Stage) -> set[str]:
    return {event["reason"] for event in await ray.objects(EVENTS)}


async def _condition(ray: Stage, kind: str, holds: Callable[[Object], bool]) -> Object:
    found: Object = {}

    async def seen() -> bool:
        nonlocal found
        found = condition(await ray.cluster(), kind)
        return holds(found)

    await ray.eventually(seen)
    return found


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

        async def told() -> bool:
            return await _reasons(ray) >= {"CreatedHeadPod", "CreatedWorkerPod"}

        await ray.eventually(told)
    kinds = sorted(request.target.split("?")[0].split("/")[-1] for request in calls)
    # Two, where pods start together; each pod that is late may be told on the way.
    assert 1 <= kinds.count("status") <= 2 + 4
    assert [kind for kind in kinds if kind != "status"] == ["events"] * 2 + ["pods"] * 4 + ["services"]


async def test_scaling_makes_and_deletes_workers(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        before = _uids(await ray.pods())
        await ray.patch(_replace(f"{_GROUPS}/0/replicas", 4))
        await ray.until_pods(5)
        assert before <= _uids(await ray.pods())
        await ray.patch(_replace(f"{_GROUPS}/0/replicas", 1))
        await ray.until_pods(2)


async def test_scaling_down_spares_pods_that_work(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        working = _uids(await ray.pods())
        ray.kubelet.starts = lambda pod: pod.metadata.uid in working
        await ray.patch(_replace(f"{_GROUPS}/0/replicas", 4))

        async def made() -> bool:
            return len(await ray.pods()) == 5

        await ray.eventually(made)
        await ray.patch(_replace(f"{_GROUPS}/0/replicas", 2))
        await ray.until_pods(3)
        assert _uids(await ray.pods()) == working


@pytest.mark.parametrize("role", ["headgroup", "small"])
async def test_a_pod_that_failed_is_replaced(ray: Stage, role: str) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        before = _uids(await ray.pods())
        pod = (await ray.pods(role))[0]
        failed = {"status": {"phase": "Failed", "reason": "Evicted"}}
        name = pod["metadata"]["name"]
        await ray.client.patch(PODS, name, failed, PatchType.MERGE, ray.namespace, subresource="status")

        async def replaced() -> bool:
            return pod["metadata"]["uid"] not in _uids(await ray.objects(PODS))

        await ray.eventually(replaced)
        await ray.until_pods(3)
        assert len(before & _uids(await ray.pods())) == 2


async def test_a_deleted_pod_is_replaced(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        gone = (await ray.pods("small"))[0]["metadata"]
        await ray.client.delete(PODS, gone["name"], ray.namespace)

        async def replaced() -> bool:
            return gone["uid"] not in _uids(await ray.objects(PODS))

        await ray.eventually(replaced)
        await ray.until_pods(3)


async def test_a_worker_that_hangs_does_not_hold_up_its_group(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        stuck = (await ray.pods("small"))[0]["metadata"]

        def ends(pod: Pod) -> bool:
            return pod.metadata.uid != stuck["uid"]

        ray.kubelet.ends = ends
        await ray.client.delete(PODS, stuck["name"], ray.namespace)

        async def whole_again() -> bool:
            return len(await ray.pods("small")) == 2 and stuck["uid"] in _uids(await ray.objects(PODS))

        await ray.eventually(whole_again)
        await _condition(ray, "Ready", lambda found: found.get("status") == "True")


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
        before = _uids(await ray.pods())
        image = f"{_GROUPS}/0/template/spec/containers/0/image"
        await ray.patch(_replace(image, "rayproject/ray:2.53.0"))
        drifted = await _condition(ray, "Drifted", lambda found: found.get("status") == "True")
        assert "workerGroupSpecs[small].spec.containers[ray].image" in drifted["message"]
        assert _uids(await ray.pods()) == before
        await ray.patch(_replace(image, "rayproject/ray:2.52.0"))
        await _condition(ray, "Drifted", lambda found: found.get("status") == "False")


async def test_recreate_replaces_every_pod(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(upgradeStrategy={"type": "Recreate"}))
        await ray.until_pods(3)
        before = _uids(await ray.pods())
        await ray.patch(_replace(f"{_GROUPS}/0/template/spec/containers/0/image", "rayproject/ray:2.53.0"))

        async def all_new() -> bool:
            return not before & _uids(await ray.objects(PODS))

        await ray.eventually(all_new)
        await ray.until_pods(3)


async def test_a_rolling_update_replaces_one_worker_after_the_other(ray: Stage) -> None:
    async with ray.operator():
        rolling = {"annotations": {labels.ROLLING_UPDATE: "workers"}}
        await ray.create(manifest(metadata=rolling, groups=[group(replicas=3)]))
        await ray.until_pods(4)
        (head,) = await ray.pods("headgroup")
        least = 3
        new = "rayproject/ray:2.53.0"
        await ray.patch(_replace(f"{_GROUPS}/0/template/spec/containers/0/image", new))

        async def all_new() -> bool:
            nonlocal least
            workers = await ray.pods("small")
            ready = [pod for pod in workers if (pod.get("status") or {}).get("phase") == "Running"]
            least = min(least, len(ready))
            return [pod["spec"]["containers"][0]["image"] for pod in ready] == [new] * 3

        await ray.eventually(all_new)
        await ray.until_pods(4)
        assert least >= 2
        assert _uids(await ray.pods("headgroup")) == {head["metadata"]["uid"]}


async def test_pods_of_a_removed_group_go(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group("one", 1), group("two", 2)]))
        await ray.until_pods(4)
        await ray.patch([{"op": "remove", "path": f"{_GROUPS}/0"}])
        await ray.until_pods(3)
        assert len(await ray.pods("two")) == 2


async def test_a_suspended_group_has_no_pods(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group("one", 1), group("two", 2)]))
        await ray.until_pods(4)
        await ray.patch(_replace(f"{_GROUPS}/1/suspend", True))
        await ray.until_pods(2)
        assert await ray.pods("two") == []


async def test_workers_to_delete_of_another_group_are_ignored_and_told(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group("one", 1), group("two", 2)]))
        await ray.until_pods(4)
        stranger = (await ray.pods("one"))[0]["metadata"]
        named = (await ray.pods("two"))[0]["metadata"]
        change = {"workersToDelete": [stranger["name"], named["name"]]}
        await ray.patch(_replace(f"{_GROUPS}/1/scaleStrategy", change))

        async def done() -> bool:
            return named["uid"] not in _uids(await ray.objects(PODS)) and "IgnoredWorkersToDelete" in await _reasons(
                ray
            )

        await ray.eventually(done)
        await ray.until_pods(4)
        assert stranger["uid"] in _uids(await ray.pods("one"))


async def test_with_an_autoscaler_only_its_word_deletes_workers(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(enableInTreeAutoscaling=True))
        await ray.until_pods(3)
        for resource in (SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS):
            assert "plain" in {found["metadata"]["name"] for found in await ray.objects(resource)}
        named = (await ray.pods("small"))[0]["metadata"]
        await ray.patch(_replace(f"{_GROUPS}/0/replicas", 1))
        await _condition(ray, "Ready", lambda found: found.get("status") == "False")
        assert len(await ray.pods("small")) == 2
        await ray.patch(_replace(f"{_GROUPS}/0/scaleStrategy", {"workersToDelete": [named["name"]]}))
        await ray.until_pods(2)
        assert named["uid"] not in _uids(await ray.pods())


async def test_a_refused_edit_is_told_and_changes_nothing(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        seen = (await ray.cluster())["status"]["observedGeneration"]
        env = "/spec/headGroupSpec/template/spec/containers/0/env"
        await ray.patch(_replace(env, [{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}]))
        refused = await _condition(ray, "Accepted", lambda found: found.get("status") == "False")
        assert refused["reason"] == "InvalidSpec"
        assert "spec.headGroupSpec" in refused["message"]
        cluster = await ray.cluster()
        assert cluster["status"]["observedGeneration"] == seen < cluster["metadata"]["generation"]
        assert cluster["status"]["state"] == "ready"
        assert len(await ray.pods()) == 3

        async def told() -> bool:
            return "InvalidRayClusterSpec" in await _reasons(ray)

        await ray.eventually(told)
        await ray.patch([{"op": "remove", "path": env}])
        await _condition(ray, "Accepted", lambda found: found.get("status") == "True")


async def test_the_head_service_follows_the_spec(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        ports = [{"name": "dashboard", "containerPort": 9265}, {"name": "gcs-server", "containerPort": 6379}]
        await ray.patch(_replace("/spec/headGroupSpec/template/spec/containers/0/ports", ports))

        async def moved() -> bool:
            endpoints = (await ray.cluster())["status"]["endpoints"]
            return endpoints == {"dashboard": "9265", "gcs-server": "6379", "metrics": "8080"}

        await ray.eventually(moved)
        # Without an address of its own it cannot become a NodePort: it is made anew.
        await ray.patch(_replace("/spec/headGroupSpec/serviceType", "NodePort"))

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
            new = _uids(await ray.objects(SECRETS)) | _uids(await ray.objects(INGRESSES))
            return len(await ray.objects(INGRESSES)) == 1 and not new & _uids([ingress, secret])

        await ray.eventually(made_again)
        await ray.patch({"spec": {"headGroupSpec": {"enableIngress": False}}})

        async def gone() -> bool:
            return await ray.objects(INGRESSES) == []

        await ray.eventually(gone)


async def test_a_quota_is_told_and_what_fits_runs(ray: Stage) -> None:
    quota = {"metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}}
    resource = PODS.__class__("", "v1", "resourcequotas", "ResourceQuota")
    await ray.client.create(resource, {"apiVersion": "v1", "kind": "ResourceQuota", **quota}, ray.namespace)
    used = {"status": {"hard": {"pods": "2"}, "used": {"pods": "0"}}}
    await ray.client.patch(resource, "two", used, PatchType.MERGE, ray.namespace, subresource="status")
    async with ray.operator():
        await ray.create(manifest())
        failed = await _condition(ray, "ReplicaFailure", lambda found: found.get("status") == "True")
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

        async def made() -> bool:
            return len(await ray.pods("small")) == 1

        await ray.eventually(made)
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
        ready = await _condition(ray, "Ready", lambda found: found.get("reason") == "Unschedulable")
        assert name in ready["message"]
        assert "Insufficient nvidia.com/gpu" in ready["message"]


async def test_replicas_of_several_hosts_come_and_go_together(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group(replicas=2, numOfHosts=2)]))
        await ray.until_pods(5)
        replicas: dict[str, list[Object]] = {}
        for pod in await ray.pods("small"):
            replicas.setdefault(pod["metadata"]["labels"][labels.REPLICA_NAME], []).append(pod)
        assert sorted(len(pods) for pods in replicas.values()) == [2, 2]
        broken, whole = replicas.values()
        await ray.client.delete(PODS, broken[0]["metadata"]["name"], ray.namespace)

        async def replaced() -> bool:
            return not _uids(broken) & _uids(await ray.objects(PODS))

        await ray.eventually(replaced)
        await ray.until_pods(5)
        assert _uids(whole) <= _uids(await ray.pods())


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
    jobs = PODS.__class__("batch", "v1", "jobs", "Job")
    async with ray.operator():
        await ray.create(manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"}))
        await ray.until_pods(3)
        assert (await ray.cluster())["metadata"]["finalizers"] == [labels.REDIS_CLEANUP_FINALIZER]
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def cleaning() -> bool:
            return len(await ray.objects(jobs)) == 1

        await ray.eventually(cleaning)
        assert [pod for pod in await ray.pods() if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD] == []
        (job,) = await ray.objects(jobs)
        at = "2026-01-01T00:00:00Z"
        finished = [
            {"type": kind, "status": "True", "lastTransitionTime": at, "lastProbeTime": at}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": finished}
        name = job["metadata"]["name"]
        await ray.client.patch(jobs, name, {"status": status}, PatchType.MERGE, ray.namespace, subresource="status")

        async def gone() -> bool:
            return await ray.objects(RAY_CLUSTERS) == []

        await ray.eventually(gone)
