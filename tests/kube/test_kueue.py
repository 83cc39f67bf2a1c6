"""Real Kueue, whole and unchanged, on the embedded server: certificates, webhooks, conversions, queues."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.target import embedded_server
from tests.kube import kueue
from tests.kube.kueue import Kubectl, KueueError, until
from tests.kube.real import build

pytestmark = pytest.mark.kube

Object = dict[str, Any]
_CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
_V1BETA2 = "kueue.x-k8s.io/v1beta2"
_FLAVOR: Object = {"apiVersion": _V1BETA2, "kind": "ResourceFlavor", "metadata": {"name": "default"}}
_QUOTAS = [{"name": "cpu", "nominalQuota": "4"}, {"name": "memory", "nominalQuota": "8Gi"}]
_GROUP: Object = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": _QUOTAS}]}
_CLUSTER_QUEUE: Object = {
    "apiVersion": _V1BETA2,
    "kind": "ClusterQueue",
    "metadata": {"name": "team"},
    "spec": {"namespaceSelector": {}, "resourceGroups": [_GROUP]},
}
# in the version that is not stored: creating it needs the conversion webhook
_LOCAL_QUEUE: Object = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "LocalQueue",
    "metadata": {"name": "queue", "namespace": "default"},
    "spec": {"clusterQueue": "team"},
}


def _template(cpu: str) -> Object:
    container = {"name": "main", "image": "example:1", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def _workload(name: str, cpu: str) -> Object:
    pods = {"name": "main", "count": 1, "template": _template(cpu)}
    spec = {"queueName": "queue", "podSets": [pods]}
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
            "entrypoint": "python job.py",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {"headGroupSpec": head},
        },
    }


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Generator[Kubectl]:
    if missing := kueue.missing():
        pytest.skip(missing)
    data = tmp_path_factory.mktemp("server")
    real: Path = build.build()
    with embedded_server(data):
        run = kueue.kubectl_of(real / "kubectl", data / "kubeconfig")
        run("apply", "--server-side", "-f", str(real / "kuberay-crds"))
        with kueue.running(run, data / "kubeconfig", real / "kubectl"):
            for obj in (_FLAVOR, _CLUSTER_QUEUE, _LOCAL_QUEUE):
                # its certificate reaches the conversions of its kinds a moment after its webhooks
                until(f"{obj['kind']} is accepted", lambda obj=obj: run("apply", "-f", "-", text=json.dumps(obj)))
            yield run


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


def test_a_rayjob_waits_until_kueue_admits_it(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=json.dumps(_rayjob("gated", "40")))
    kubectl("create", "-f", "-", text=json.dumps(_rayjob("runs", "1")))

    def suspended(name: str) -> bool:
        return bool(json.loads(kubectl("get", f"rayjob/{name}", "-o", "json"))["spec"].get("suspend"))

    assert suspended("gated")
    until("the RayJob that fits is released", lambda: not suspended("runs"))
    workloads = json.loads(kubectl("get", "workloads.v1beta2.kueue.x-k8s.io", "-o", "json"))["items"]
    owners = {
        each["metadata"]["ownerReferences"][0]["name"] for each in workloads if each["metadata"].get("ownerReferences")
    }
    assert {"gated", "runs"} <= owners
    assert suspended("gated")
