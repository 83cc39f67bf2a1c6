"""The pods we make, with real Ray in them: a worker joins, and one that leaves first finishes what runs on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import shapes
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NAMESPACES, PODS, SERVICE_ACCOUNTS, SERVICES
from rayward.operator.cluster import services
from tests.kinds.shapes.sample import cluster
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

Object = dict[str, Any]

_PATIENCE: Final = 240.0
_NAMESPACE: Final = "lab"
_DRIVER: Final = """
import ray, time
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init(log_to_driver=False)
here = ray.get_runtime_context().get_node_id()
there = next(node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != here)

@ray.remote(num_cpus=1, max_retries=0)
def long():
    time.sleep(45)  # longer than Ray's own drain at SIGTERM lasts
    return ray.get_runtime_context().get_node_id()

task = long.options(scheduling_strategy=On(there, soft=False)).remote()
time.sleep(3)
print("running", flush=True)
print("finished" if ray.get(task) == there else "elsewhere", flush=True)
while True:
    gone = next(node for node in ray.nodes() if node["NodeID"] == there)
    if not gone["Alive"]:
        print(gone["DeathReasonMessage"], flush=True)
        break
    time.sleep(0.5)
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Generator[Path]:
    rayward = [str(Path(sys.executable).parent / "rayward")]
    where = ["--data-dir", str(tmp_path / "stack")]
    subprocess.run([*rayward, "up", "--operator", "none", "--cpus", "4", "--memory", "8Gi", *where], check=True)
    try:
        yield tmp_path / "stack" / "kubeconfig"
    finally:
        subprocess.run([*rayward, "down", "--purge", *where], check=True)


def _template(name: str) -> Object:
    container = {"name": name, "image": "rayproject/ray:2.60.0", "resources": {"requests": {"cpu": "100m"}}}
    return {"spec": {"terminationGracePeriodSeconds": 90, "containers": [container]}}


def test_a_worker_that_leaves_finishes_its_task(kubeconfig: Path) -> None:
    flags = {"rayStartParams": {"num-cpus": "1", "object-store-memory": "100000000"}}
    made = cluster(
        {"rayVersion": "2.60.0"},
        head={"template": _template("ray-head"), **flags},
        groups=[{"template": _template("ray-worker"), **flags}],
        annotations={"rayward.dev/rolling-update": "workers"},
    )
    with SyncClient.connect(find_access(kubeconfig)) as client:
        client.create(NAMESPACES, {"metadata": {"name": _NAMESPACE}})
        eventually(lambda: bool(client.get(SERVICE_ACCOUNTS, "default", _NAMESPACE)), _PATIENCE)
        client.create(SERVICES, _orphan(services.head_service(made)), _NAMESPACE)
        for pod in (shapes.head_pod(made, "head"), shapes.worker_pod(made, made.groups[0], "worker")):
            client.create(PODS, _orphan(pod), _NAMESPACE)
        eventually(lambda: all(_is_ready(client, name) for name in ("head", "worker")), _PATIENCE)

        inside = [
            sys.executable,
            "-m",
            "rayward.cli",
            "exec",
            "head",
            "-n",
            _NAMESPACE,
            "--kubeconfig",
            str(kubeconfig),
        ]
        command = [*inside, "--", "python", "-u", "-c", _DRIVER]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "running\n"
            client.delete(PODS, "worker", _NAMESPACE)
            assert driver.stdout.read().splitlines() == ["finished", "the pod is being replaced"]


def _orphan(child: Object) -> Object:
    """Without its owner, of which the server knows nothing."""
    return {**child, "metadata": {name: part for name, part in child["metadata"].items() if name != "ownerReferences"}}


def _is_ready(client: SyncClient, name: str) -> bool:
    conditions: list[Object] = client.get(PODS, name, _NAMESPACE)["status"].get("conditions", [])
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)
