"""KubeRay's own operator, unmodified, works on the embedded server as on a real one; the test plays the kubelet."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kube.client import PatchType
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import NotFound
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import (
    CUSTOM_RESOURCE_DEFINITIONS,
    INGRESSES,
    JOBS,
    LEASES,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from tests.contract.kubectl import targets
from tests.contract.target import ended
from tests.kube.kubelet import play_kubelet
from tests.kube.real import build
from tests.waiting import eventually

pytestmark = pytest.mark.kube

_PATIENCE: Final = 120.0
_LEASE: Final = "ray-operator-leader"
RAY_CLUSTERS: Final = Resource("ray.io", "v1", "rayclusters", "RayCluster")
RAY_SERVICES: Final = Resource("ray.io", "v1", "rayservices", "RayService")
_CHILDREN: Final = (PODS, SERVICES, SECRETS, ROLES, ROLE_BINDINGS, INGRESSES, JOBS, RAY_CLUSTERS)

# What it reports as errors and tries again, on every server: another writer came first, its cache lags behind what is
# gone or already made, a deleted namespace takes nothing new, a RayService looks at a cluster that has no head yet.
_EXPECTED: Final = (
    "the object has been modified",
    '" not found',
    '" already exists',
    "Precondition failed: UID in precondition",
    "because it is being terminated",
    "found 0 head.",
    "unable to find head service",
)

Object = dict[str, Any]


@dataclass(frozen=True)
class _Stage:
    """A server with its controllers, and KubeRay's operator on it."""

    folder: Path
    client: SyncClient
    installed: dict[str, str]

    def complaints(self) -> list[str]:
        """What the operator says went wrong, other than what it must live with on every API server."""
        errors: list[str] = []
        for line in (self.folder / "operator.log").read_text().splitlines():
            entry = json.loads(line) if line.startswith("{") else {"level": "error", "msg": line}
            if entry["level"] not in {"info", "debug"}:
                text = f"{entry['msg']}: {entry.get('error', '')}"
                errors += [text] if not any(expected in text for expected in _EXPECTED) else []
        return errors


@pytest.fixture(scope="module", params=[targets.embedded, targets.real], ids=["embedded", "real"])
def stage(request: pytest.FixtureRequest) -> Generator[_Stage]:
    binaries = build.build()
    manifests = str(binaries / "kuberay-crds")
    with request.param() as kubeconfig:
        kubectl = [str(binaries / "kubectl"), f"--kubeconfig={kubeconfig}"]
        installed = {
            how: subprocess.run([*kubectl, *how.split(), "-f", manifests], check=True, capture_output=True, text=True)
            for how in ("create", "apply --server-side")
        }
        command = [str(binaries / "kuberay-operator"), f"--kubeconfig={kubeconfig}"]
        command += ["--leader-election-namespace=default", "--metrics-addr=0", "--health-probe-bind-address=0"]
        with (kubeconfig.parent / "operator.log").open("wb") as log:
            operator = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            with SyncClient.connect(find_access(kubeconfig)) as client:
                yield _Stage(kubeconfig.parent, client, {how: done.stdout for how, done in installed.items()})
        finally:
            ended(operator)


@pytest.fixture
def client(stage: _Stage) -> Generator[SyncClient]:
    before = len(stage.complaints())
    yield stage.client
    assert stage.complaints()[before:] == []


@pytest.fixture
def namespace(client: SyncClient) -> str:
    made: str = client.create(NAMESPACES, {"metadata": {"generateName": "ray-"}})["metadata"]["name"]
    # until its account is there every pod is refused, and the operator says so
    eventually(lambda: bool(client.get(SERVICE_ACCOUNTS, "default", made)), _PATIENCE)
    return made


def _template(container: str) -> Object:
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    return {"spec": {"containers": [{"name": container, "image": "rayproject/ray:2.52.0", "resources": resources}]}}


def _cluster_spec(replicas: int, head: Object | None = None, **more: Any) -> Object:
    workers = {"groupName": "small", "replicas": replicas, "minReplicas": 0, "maxReplicas": 5}
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": _template("ray-head"), **(head or {})},
        "workerGroupSpecs": [{**workers, "template": _template("ray-worker")}],
        **more,
    }


def _ray_cluster(namespace: str, spec: Object) -> Object:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "demo", "namespace": namespace},
        "spec": spec,
    }


def _with_kubelet(client: SyncClient, namespace: str, holds: Callable[[], bool]) -> None:
    def step() -> bool:
        play_kubelet(client, namespace)
        return holds()

    eventually(step, _PATIENCE)


def _state(client: SyncClient, namespace: str) -> Object:
    return client.get(RAY_CLUSTERS, "demo", namespace).get("status", {})


def _workers(client: SyncClient, namespace: str) -> list[Object]:
    return client.list(PODS, namespace, label_selector="ray.io/node-type=worker").items


def _children(client: SyncClient, namespace: str) -> list[str]:
    """Everything in the namespace that some controller owns."""
    return [
        f"{resource}/{item['metadata']['name']}"
        for resource in _CHILDREN
        for item in client.list(resource, namespace).items
        if item["metadata"].get("ownerReferences")
    ]


def _make_ready(client: SyncClient, namespace: str, spec: Object) -> Object:
    made = client.create(RAY_CLUSTERS, _ray_cluster(namespace, spec))
    _with_kubelet(client, namespace, lambda: _state(client, namespace).get("state") == "ready")
    return made


def test_its_definitions_install(stage: _Stage, client: SyncClient) -> None:
    kinds = ("rayclusters", "raycronjobs", "rayjobs", "rayservices")
    base = "customresourcedefinition.apiextensions.k8s.io"

    assert stage.installed == {
        "create": "".join(f"{base}/{kind}.ray.io created\n" for kind in kinds),
        "apply --server-side": "".join(f"{base}/{kind}.ray.io serverside-applied\n" for kind in kinds),
    }
    for kind in kinds:
        conditions = client.get(CUSTOM_RESOURCE_DEFINITIONS, f"{kind}.ray.io")["status"]["conditions"]
        assert {c["type"]: c["status"] for c in conditions} == {"NamesAccepted": "True", "Established": "True"}


def test_it_leads_and_renews(client: SyncClient) -> None:
    def lease() -> Object:
        return client.get(LEASES, _LEASE, "default")["spec"]

    eventually(lambda: bool(lease()["holderIdentity"]), _PATIENCE)
    first = lease()
    eventually(lambda: lease()["renewTime"] > first["renewTime"], _PATIENCE)
    assert {**lease(), "renewTime": ""} == {**first, "renewTime": ""}


def test_a_cluster_gets_its_service_and_pods_and_becomes_ready(client: SyncClient, namespace: str) -> None:
    made = _make_ready(client, namespace, _cluster_spec(replicas=2))

    pods = client.list(PODS, namespace).items
    service = client.get(SERVICES, "demo-head-svc", namespace)
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": "demo",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert sorted(p["metadata"]["labels"]["ray.io/node-type"] for p in pods) == ["head", "worker", "worker"]
    assert [item["metadata"]["ownerReferences"] for item in (*pods, service)] == [[owner]] * 4
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"]["ray.io/node-type"] == "head"
    status = _state(client, namespace)
    assert (status["readyWorkerReplicas"], status["desiredWorkerReplicas"]) == (2, 2)
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "HeadPodReady": "True",
        "RayClusterProvisioned": "True",
        "RayClusterSuspended": "False",
        "RayClusterSuspending": "False",
    }


def test_a_cluster_scales_up_and_down(client: SyncClient, namespace: str) -> None:
    _make_ready(client, namespace, _cluster_spec(replicas=1))

    for replicas in (4, 2):
        scaled = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": replicas}]
        client.patch(RAY_CLUSTERS, "demo", scaled, PatchType.JSON, namespace)
        _with_kubelet(
            client,
            namespace,
            lambda replicas=replicas: (
                _state(client, namespace).get("readyWorkerReplicas") == replicas
                and len(_workers(client, namespace)) == replicas
            ),
        )


def test_a_worker_that_is_gone_comes_back(client: SyncClient, namespace: str) -> None:
    _make_ready(client, namespace, _cluster_spec(replicas=1))
    lost = _workers(client, namespace)[0]["metadata"]

    client.delete(PODS, lost["name"], namespace)

    def replaced() -> bool:
        return [w["status"]["phase"] for w in _workers(client, namespace) if w["metadata"]["uid"] != lost["uid"]] == [
            "Running"
        ]

    _with_kubelet(client, namespace, replaced)


def test_an_autoscaled_cluster_with_an_ingress_gets_its_accounts_and_roles(client: SyncClient, namespace: str) -> None:
    head = {"enableIngress": True}
    _make_ready(client, namespace, _cluster_spec(replicas=1, head=head, enableInTreeAutoscaling=True))

    role = client.get(ROLES, "demo", namespace)
    binding = client.get(ROLE_BINDINGS, "demo", namespace)
    assert {"pods", "rayclusters"} <= {name for rule in role["rules"] for name in rule["resources"]}
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "demo"}
    assert client.get(SERVICE_ACCOUNTS, "demo", namespace)["metadata"]["ownerReferences"][0]["name"] == "demo"
    assert client.get(INGRESSES, "demo-head-ingress", namespace)["spec"]["rules"]


def test_a_deleted_cluster_leaves_nothing(client: SyncClient, namespace: str) -> None:
    spec = _cluster_spec(replicas=2, head={"enableIngress": True}, enableInTreeAutoscaling=True)
    _make_ready(client, namespace, spec)
    assert len(_children(client, namespace)) >= 7

    client.delete(RAY_CLUSTERS, "demo", namespace)

    _with_kubelet(client, namespace, lambda: not _children(client, namespace))
    with pytest.raises(NotFound):
        client.get(RAY_CLUSTERS, "demo", namespace)


def test_a_service_owns_a_cluster_that_owns_pods_and_all_go(client: SyncClient, namespace: str) -> None:
    body: Object = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "serve"}}
    client.create(RAY_SERVICES, {**body, "spec": {"rayClusterConfig": _cluster_spec(replicas=1)}}, namespace)
    eventually(lambda: len(client.list(PODS, namespace).items) == 2, _PATIENCE)
    cluster = client.list(RAY_CLUSTERS, namespace).items[0]
    assert [(o["kind"], o["name"]) for o in cluster["metadata"]["ownerReferences"]] == [("RayService", "serve")]

    client.delete(RAY_SERVICES, "serve", namespace)

    eventually(lambda: not _children(client, namespace), _PATIENCE)


def test_its_finalizer_holds_a_cluster_until_redis_is_clean(client: SyncClient, namespace: str) -> None:
    fault_tolerance = {"redisAddress": "redis:6379"}
    _make_ready(client, namespace, _cluster_spec(replicas=1, gcsFaultToleranceOptions=fault_tolerance))
    held = client.get(RAY_CLUSTERS, "demo", namespace)["metadata"]["finalizers"]
    assert held == ["ray.io/gcs-ft-redis-cleanup-finalizer"]

    client.delete(RAY_CLUSTERS, "demo", namespace)
    _with_kubelet(client, namespace, lambda: bool(client.list(JOBS, namespace).items))
    job = client.list(JOBS, namespace).items[0]["metadata"]["name"]
    assert client.get(RAY_CLUSTERS, "demo", namespace)["metadata"]["deletionTimestamp"]
    client.patch(JOBS, job, {"status": _complete()}, PatchType.MERGE, namespace, subresource="status")

    _with_kubelet(client, namespace, lambda: not _children(client, namespace))
    with pytest.raises(NotFound):
        client.get(RAY_CLUSTERS, "demo", namespace)


def _complete() -> Object:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    kinds = ("SuccessCriteriaMet", "Complete")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds]
    return {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions}


def test_a_namespace_takes_its_clusters_with_it(client: SyncClient, namespace: str) -> None:
    _make_ready(client, namespace, _cluster_spec(replicas=1))

    client.delete(NAMESPACES, namespace)

    def gone() -> bool:
        play_kubelet(client, namespace)
        try:
            client.get(NAMESPACES, namespace)
        except NotFound:
            return True
        return False

    eventually(gone, _PATIENCE)
