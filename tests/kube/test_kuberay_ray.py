"""KubeRay's own operator, unmodified, brings up real Ray on our API server and node."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from rayward.kube.client import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CONFIG_MAPS, PODS, SERVICES, Resource
from rayward.local.addresses import ShellAddress, shell_addresses_of
from tests.kube.kuberay_stack import kuberay_stack
from tests.waiting import eventually

pytestmark = pytest.mark.kube

_PATIENCE: Final = 300.0
_SAMPLES: Final = Path(__file__).parents[2] / "samples"
_MANIFESTS: Final = Path(__file__).parent / "manifests"
RAY_CLUSTERS: Final = Resource("ray.io", "v1", "rayclusters", "RayCluster")
RAY_SERVICES: Final = Resource("ray.io", "v1", "rayservices", "RayService")
RAY_JOBS: Final = Resource("ray.io", "v1", "rayjobs", "RayJob")
_KINDS: Final = {"ConfigMap": CONFIG_MAPS, "RayCluster": RAY_CLUSTERS, "RayService": RAY_SERVICES, "RayJob": RAY_JOBS}

Object = dict[str, Any]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[SyncClient]:
    """A stack with no operator of ours, and KubeRay's on it."""
    with kuberay_stack(tmp_path_factory.mktemp("kuberay")) as stack:
        yield stack.client


def _made(client: SyncClient, file: Path) -> None:
    for manifest in yaml.safe_load_all(file.read_text()):
        client.create(_KINDS[manifest["kind"]], manifest, "default")


def _took(what: str, condition: Callable[[], bool]) -> None:
    began = time.monotonic()
    eventually(condition, _PATIENCE)
    print(f"KubeRay v1.6.2, real Ray 2.60: {what} after {time.monotonic() - began:.1f} s")


def test_a_ray_cluster_with_two_workers_becomes_ready(client: SyncClient) -> None:
    _made(client, _SAMPLES / "raycluster.yaml")

    _took("RayCluster of 1 + 2 ready", lambda: _status(client, RAY_CLUSTERS, "demo").get("state") == "ready")

    pods = client.list(PODS, "default", label_selector="ray.io/cluster=demo").items
    assert sorted(pod["metadata"]["labels"]["ray.io/node-type"] for pod in pods) == ["head", "worker", "worker"]
    assert len({pod["status"]["podIP"] for pod in pods}) == 3
    _gone(client, RAY_CLUSTERS, "demo")


def test_a_ray_job_runs_to_its_end(client: SyncClient) -> None:
    _made(client, _MANIFESTS / "rayjob.yaml")

    _took("RayJob (K8sJobMode) complete", lambda: bool(_status(client, RAY_JOBS, "adding").get("endTime")))

    status = _status(client, RAY_JOBS, "adding")
    assert (status["jobStatus"], status["jobDeploymentStatus"]) == ("SUCCEEDED", "Complete")
    (submitter,) = client.list(PODS, "default", label_selector="job-name=adding").items
    log = Request("GET", f"/api/v1/namespaces/default/pods/{submitter['metadata']['name']}/log", accept="*/*")
    assert b"the sum is 10" in client.answer(log).body
    _gone(client, RAY_JOBS, "adding")


def test_a_ray_service_answers_through_its_service_and_is_upgraded(client: SyncClient) -> None:
    _made(client, _SAMPLES / "rayservice.yaml")
    _took("RayService running", lambda: _status(client, RAY_SERVICES, "hello").get("serviceStatus") == "Running")
    service = client.get(SERVICES, "hello-serve-svc", "default")
    (address,) = shell_addresses_of(service)
    eventually(lambda: _answer(address) == {"hello": "world", "release": "1"}, _PATIENCE)
    first = _status(client, RAY_SERVICES, "hello")["activeServiceStatus"]["rayClusterName"]

    _set_release(client, "2")
    _took("RayService upgraded to a new cluster", lambda: _answer(address) == {"hello": "world", "release": "2"})

    eventually(lambda: _active(client) not in ("", first), _PATIENCE)
    _gone(client, RAY_SERVICES, "hello")


def _status(client: SyncClient, resource: Resource, name: str) -> Object:
    return client.get(resource, name, "default").get("status") or {}


def _active(client: SyncClient) -> str:
    return (_status(client, RAY_SERVICES, "hello").get("activeServiceStatus") or {}).get("rayClusterName", "")


def _set_release(client: SyncClient, release: str) -> None:
    paths = [
        "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/env/1/value",
        "/spec/rayClusterConfig/workerGroupSpecs/0/template/spec/containers/0/env/1/value",
    ]
    operations = [{"op": "replace", "path": path, "value": release} for path in paths]
    client.patch(RAY_SERVICES, "hello", operations, PatchType.JSON, "default")


def _answer(address: ShellAddress) -> Object:
    with urllib.request.urlopen(f"http://{address}/", timeout=30) as answer:
        return json.load(answer)


def _gone(client: SyncClient, resource: Resource, name: str) -> None:
    """Delete it, and wait for its pods: the next one needs the machine."""
    client.delete(resource, name, "default")
    eventually(lambda: not client.list(PODS, "default").items, _PATIENCE)
