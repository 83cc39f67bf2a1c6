"""KubeRay's operator at work on RayJobs: what it makes of ``tests.operator.job.manifests``."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import JOBS, NAMESPACES, SERVICE_ACCOUNTS, SERVICES
from tests.contract.kubectl import targets
from tests.kube.kubelet import play_kubelet
from tests.kube.kuberay import operating
from tests.kube.real import build
from tests.kube.record import files
from tests.operator.children import UID
from tests.operator.job.likekuberay import RECORDED, anonymous
from tests.operator.job.manifests import SPECS, ray_job
from tests.waiting import eventually

Object = dict[str, Any]

_PATIENCE: Final = 180.0
_REACHED: Final = frozenset(("Running", "Waiting"))


def record(client: SyncClient) -> dict[str, Object]:
    """Every RayJob with its children, the same at every run."""
    eventually(lambda: _serves(client), _PATIENCE)
    return {name: _entry(client, name) for name in SPECS}


def _serves(client: SyncClient) -> bool:
    try:
        for kind in (RAY_CLUSTERS, RAY_JOBS):
            client.page(kind, limit=1)
    except ApiError:
        return False
    return True


def _entry(client: SyncClient, name: str) -> Object:
    client.create(NAMESPACES, {"metadata": {"name": name}})
    eventually(lambda: bool(client.get(SERVICE_ACCOUNTS, "default", name)), _PATIENCE)
    job = client.create(RAY_JOBS, ray_job(name), name)

    def runs() -> bool:
        play_kubelet(client, name)
        return _status(client, name).get("jobDeploymentStatus") in _REACHED

    eventually(runs, _PATIENCE)
    mode = job["spec"].get("submissionMode")
    if mode == "K8sJobMode":
        eventually(lambda: bool(_owned(client, JOBS, job)), _PATIENCE)
    if mode != "InteractiveMode":
        eventually(lambda: bool(_owned(client, SERVICES, job)), _PATIENCE)
    status = _status(client, name)
    made = [child for kind in (RAY_CLUSTERS, JOBS, SERVICES) for child in _owned(client, kind, job)]
    kept = {
        **job,
        "metadata": {k: v for k, v in job["metadata"].items() if k in ("labels", "annotations", "name", "namespace")},
    }
    kept["metadata"]["uid"] = UID
    told = {"jobId": status.get("jobId", ""), "rayClusterName": status["rayClusterName"], "uid": job["metadata"]["uid"]}
    children = [anonymous(child, told) for child in made]
    return {"job": kept, "children": sorted(children, key=lambda child: json.dumps(child["kind"]))}


def _status(client: SyncClient, name: str) -> Object:
    return client.get(RAY_JOBS, name, name).get("status") or {}


def _owned(client: SyncClient, kind: Any, job: Object) -> list[Object]:
    return [
        {"apiVersion": kind.api_version, "kind": kind.kind, **item}
        for item in client.list(kind, job["metadata"]["namespace"]).items
        if any(owner["uid"] == job["metadata"]["uid"] for owner in item["metadata"].get("ownerReferences", ()))
    ]


def _main() -> None:
    with operating(targets.embedded()) as client:
        files.write(RECORDED, files.as_json(record(client)))
    print(f"{RECORDED.name}: {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    try:
        _main()
    except build.BuildError as error:
        sys.exit(f"error: {error}")
