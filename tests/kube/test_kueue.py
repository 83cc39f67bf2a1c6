"""Real Kueue on our API server and node, as it is deployed: certificates, webhooks, conversions, queues, real Ray."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from typing import Any

import pytest

from rayward.kinds import crds
from rayward.kinds.resources import RAY_SERVICES
from tests.beside import beside
from tests.kube import kueue
from tests.kube.kueue import Kubectl, KueueError, until
from tests.kube.real import build
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.waiting import eventually

pytestmark = pytest.mark.kube

Object = dict[str, Any]
_CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
_V1BETA2 = "kueue.x-k8s.io/v1beta2"
_FLAVOR: Object = {"apiVersion": _V1BETA2, "kind": "ResourceFlavor", "metadata": {"name": "default"}}
_QUOTAS = [{"name": "cpu", "nominalQuota": "4"}, {"name": "memory", "nominalQuota": "8Gi"}]
_GROUP: Object = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": _QUOTAS}]}
_PREEMPTION = {"withinClusterQueue": "LowerPriority"}
_CLUSTER_QUEUE: Object = {
    "apiVersion": _V1BETA2,
    "kind": "ClusterQueue",
    "metadata": {"name": "team"},
    "spec": {"namespaceSelector": {}, "resourceGroups": [_GROUP], "preemption": _PREEMPTION},
}
# in the version that is not stored: creating it needs the conversion webhook
_LOCAL_QUEUE: Object = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "LocalQueue",
    "metadata": {"name": "queue", "namespace": "default"},
    "spec": {"clusterQueue": "team"},
}


def _template(cpu: str) -> Object:
    container = {
        "name": "main",
        "image": "rayproject/ray:2.60.0",
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
    }
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def _workload(name: str, cpu: str, priority: int = 0) -> Object:
    pods = {"name": "main", "count": 1, "template": _template(cpu)}
    spec = {"queueName": "queue", "podSets": [pods], "priority": priority}
    return {
        "apiVersion": _V1BETA2,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _rayjob(name: str, cpu: str) -> Object:
    head = {"rayStartParams": {}, "template": {"spec": {"containers": _template(cpu)["spec"]["containers"]}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "queue"}},
        "spec": {
            "entrypoint": "echo done",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {"headGroupSpec": head},
        },
    }


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    """Our API server and node, on which Kueue's Deployment runs, and our operator, which leaves admission to it."""
    folder = tmp_path_factory.mktemp("kueue")
    with RayStack(folder / "stack", "--operator", "none") as stack:
        kubeconfig = stack.folder / "kubeconfig"
        run = kueue.kubectl_of(build.build() / "kubectl", kubeconfig)
        kueue.define(run, crds.manifests())
        kueue.deploy(run)
        for obj in (_FLAVOR, _CLUSTER_QUEUE, _LOCAL_QUEUE):
            # its certificate reaches the conversions of its kinds a moment after its webhooks
            until(f"{obj['kind']} is accepted", lambda obj=obj: run("apply", "-f", "-", text=json.dumps(obj)))
        operator = [sys.executable, "-m", "rayward.cli", "operator", "run", f"--kubeconfig={kubeconfig}"]
        with beside([*operator, "--admission=kueue", "--use-kubernetes-proxy"], folder / "operator.log"):
            yield stack


@pytest.fixture(scope="module")
def kubectl(stack: RayStack) -> Kubectl:
    return kueue.kubectl_of(build.build() / "kubectl", stack.folder / "kubeconfig")


def _conditions(kubectl: Kubectl, name: str) -> dict[str, str]:
    found = json.loads(kubectl("get", f"workloads.v1beta2.kueue.x-k8s.io/{name}", "-o", "json"))
    return {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", [])}


def test_kueue_writes_its_authority_into_its_webhooks_and_conversions(kubectl: Kubectl) -> None:
    for plural in _CONVERTED:
        spec = json.loads(kubectl("get", f"crd/{plural}.kueue.x-k8s.io", "-o", "json"))["spec"]
        assert spec["conversion"]["strategy"] == "Webhook"
        assert spec["conversion"]["webhook"]["clientConfig"]["caBundle"]


def test_kueue_admits_a_workload_that_fits(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=json.dumps(_workload("fits", "1")))
    until("the workload is admitted", lambda: _conditions(kubectl, "fits").get("Admitted") == "True")
    kubectl("delete", "workloads.v1beta2.kueue.x-k8s.io/fits")


def test_kueue_keeps_a_workload_that_is_too_large(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=json.dumps(_workload("large", "40")))
    until("the workload is looked at", lambda: _conditions(kubectl, "large").get("QuotaReserved") == "False")
    assert _conditions(kubectl, "large").get("Admitted") != "True"


def test_a_stored_object_is_read_and_changed_in_the_other_version(kubectl: Kubectl) -> None:
    old, new = "localqueues.v1beta1.kueue.x-k8s.io", "localqueues.v1beta2.kueue.x-k8s.io"
    assert json.loads(kubectl("get", f"{old}/queue", "-o", "json"))["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    assert len(json.loads(kubectl("get", old, "-o", "json"))["items"]) == 1
    kubectl("patch", f"{old}/queue", "--type=merge", "-p", '{"spec":{"stopPolicy":"None"}}')
    kubectl("annotate", f"{old}/queue", "example.com/a=b")
    found = json.loads(kubectl("get", f"{new}/queue", "-o", "json"))
    assert found["apiVersion"] == _V1BETA2
    assert found["metadata"]["annotations"]["example.com/a"] == "b"


def test_kueues_webhook_refuses_in_its_own_words(kubectl: Kubectl) -> None:
    twice: Object = {**_CLUSTER_QUEUE, "metadata": {"name": "bad"}}
    twice["spec"] = {"namespaceSelector": {}, "resourceGroups": [_GROUP, _GROUP]}
    with pytest.raises(KueueError, match=r'admission webhook "vclusterqueue\.kb\.io" denied the request'):
        kubectl("create", "-f", "-", text=json.dumps(twice))


def test_a_rayjob_waits_until_kueue_admits_it(kubectl: Kubectl, stack: RayStack) -> None:
    for name, cpu in (("gated", "40"), ("runs", "1")):
        kubectl("create", "-f", "-", text=json.dumps(_rayjob(name, cpu)))

    def job(name: str) -> Object:
        return json.loads(kubectl("get", f"rayjob/{name}", "-o", "json"))

    assert job("gated")["spec"]["suspend"]
    until("the RayJob that fits ends", lambda: job("runs").get("status", {}).get("jobStatus") == "SUCCEEDED")
    workloads = json.loads(kubectl("get", "workloads.v1beta2.kueue.x-k8s.io", "-o", "json"))["items"]
    owners = {one["name"] for each in workloads for one in each["metadata"].get("ownerReferences", [])}
    assert {"gated", "runs"} <= owners
    assert job("gated")["spec"]["suspend"]
    assert job("gated")["status"]["jobDeploymentStatus"] == "Suspended"
    kubectl("delete", "rayjob", "gated", "runs")


# Two minutes of starts and stops; with simulated Ray it is in tests/quota/gate/test_beside_kueue.py.
@pytest.mark.soak
def test_kueues_own_integration_admits_a_service_preempts_it_and_admits_it_again(
    kubectl: Kubectl, stack: RayStack
) -> None:
    service = HelloService(stack, "queued", labels={"kueue.x-k8s.io/queue-name": "queue"})
    service.serves("1")
    serving = service.active
    kubectl("create", "-f", "-", text=json.dumps(_workload("urgent", "4", priority=100)))
    until("the workload is admitted", lambda: _conditions(kubectl, "urgent").get("Admitted") == "True")
    eventually(lambda: not stack.pods(serving), PATIENCE)
    eventually(lambda: service.condition("Ready")[0] == "False", PATIENCE)
    assert stack.client.get(RAY_SERVICES, "queued", "default")["spec"]["rayClusterConfig"]["suspend"]
    kubectl("delete", "workloads.v1beta2.kueue.x-k8s.io/urgent")
    service.serves("1")
    assert service.active == serving
    service.delete()
