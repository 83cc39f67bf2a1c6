"""A RayCluster with real Ray: it runs, scales, heals, rests, grows by itself, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONFIG_MAPS, PODS, SERVICES
from tests.ray.stack import PATIENCE, RayStack, sample_cluster
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]

Object = dict[str, Any]


def _scale(stack: RayStack, name: str, workers: int) -> None:
    operation = {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": workers}
    stack.client.patch(RAY_CLUSTERS, name, [operation], PatchType.JSON, "default")


def _delete(stack: RayStack, name: str) -> None:
    stack.rayward("delete", "raycluster", name)
    eventually(lambda: not stack.client.list(PODS, "default", label_selector=f"ray.io/cluster={name}").items, PATIENCE)


def _processes_of(names: set[str]) -> list[str]:
    """Processes that were started for one of these pods, told by their environment."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if any(f"HOSTNAME={name}\0" in environment for name in names):
                found.append(f"{entry.name} {os.path.realpath(entry / 'exe')}")
    return found


def test_a_cluster_lives_its_life(stack: RayStack) -> None:
    stack.apply(sample_cluster("life", 2))
    stack.becomes_ready("life", pods=3)
    places = stack.everywhere("life")
    assert len({node for node, _, _ in places}) == 3
    assert len({network for _, _, network in places}) == 3, "each Ray node is in its pod's own namespace"

    _scale(stack, "life", 4)
    stack.becomes_ready("life", pods=5)
    _scale(stack, "life", 1)
    stack.becomes_ready("life", pods=2)

    for victim in ("worker", "head"):
        before = {pod["metadata"]["uid"] for pod in stack.pods("life")}
        killed = next(pod for pod in stack.pods("life") if pod["metadata"]["labels"]["ray.io/node-type"] == victim)
        stack.client.delete(PODS, killed["metadata"]["name"], "default", grace_period_seconds=0)
        eventually(lambda old=before: len({pod["metadata"]["uid"] for pod in stack.pods("life")} - old) > 0, PATIENCE)
        stack.becomes_ready("life", pods=2)

    names = {pod["metadata"]["name"] for pod in stack.pods("life")}
    assert _processes_of(names), "the pods' processes can be told by their environment"
    stack.client.patch(RAY_CLUSTERS, "life", {"spec": {"suspend": True}}, PatchType.MERGE, "default")
    eventually(lambda: _state(stack, "life") == "suspended", PATIENCE)
    assert _processes_of(names) == []

    # no explicit false is needed
    stack.client.patch(RAY_CLUSTERS, "life", {"spec": {"suspend": None}}, PatchType.MERGE, "default")
    stack.becomes_ready("life", pods=2)

    names = {pod["metadata"]["name"] for pod in stack.pods("life")}
    _delete(stack, "life")
    assert _processes_of(names) == []
    assert not [path for path in stack.folder.rglob("*") if any(name in path.name for name in names)]
    services = stack.client.list(SERVICES, "default").items
    assert not [service for service in services if service["metadata"]["name"].startswith("life")]


def _state(stack: RayStack, name: str) -> str:
    return (stack.client.get(RAY_CLUSTERS, name, "default").get("status") or {}).get("state", "")


_BUSY = """
import time
import ray

ray.init(log_to_driver=False)

@ray.remote(num_cpus=1)
def wait_for_room():
    time.sleep(2)
    return ray.get_runtime_context().get_node_id()

print(len(set(ray.get([wait_for_room.remote() for _ in range(4)], timeout=280))))
"""


def test_the_autoscaler_adds_a_worker_for_waiting_tasks_and_removes_it_when_idle(stack: RayStack) -> None:
    manifest = sample_cluster(
        "auto", 0, enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": 5, "version": "v2"}
    )
    manifest["spec"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    manifest["spec"]["workerGroupSpecs"][0]["maxReplicas"] = 1
    stack.apply(manifest)
    stack.becomes_ready("auto", pods=1)

    assert stack.run("auto", _BUSY).strip().endswith("1")

    eventually(lambda: len(stack.pods("auto")) == 1, PATIENCE)
    cluster = stack.client.get(RAY_CLUSTERS, "auto", "default")
    owners = {
        entry["manager"]
        for entry in cluster["metadata"]["managedFields"]
        if "f:workerGroupSpecs" in entry.get("fieldsV1", {}).get("f:spec", {})
    }
    assert owners - {"rayward"}, "the size belongs to the sidecar that changed it"
    assert "rayward-operator" not in owners
    _delete(stack, "auto")


def test_user_code_comes_from_a_config_map_or_from_a_folder(stack: RayStack, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "from_folder.py").write_text("def answer():\n    return 'from a folder'\n")
    manifest = sample_cluster("code", 1)
    code = {"from_map.py": "def answer():\n    return 'from a config map'\n"}
    for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
        spec: Object = group["template"]["spec"]
        spec["volumes"] = [
            {"name": "map", "configMap": {"name": "code"}},
            {"name": "folder", "hostPath": {"path": str(folder)}},
        ]
        container: Object = spec["containers"][0]
        container["env"] = [{"name": "PYTHONPATH", "value": "/code/map:/code/folder"}]
        container["volumeMounts"] = [
            {"name": "map", "mountPath": "/code/map"},
            {"name": "folder", "mountPath": "/code/folder"},
        ]
    stack.client.create(CONFIG_MAPS, {"metadata": {"name": "code"}, "data": code}, "default")
    stack.apply(manifest)
    stack.becomes_ready("code", pods=2)

    program = """
import ray
ray.init(log_to_driver=False)

@ray.remote(num_cpus=1)
def answers():
    import from_folder, from_map
    return from_map.answer() + ", " + from_folder.answer()

print(ray.get([answers.remote() for _ in range(2)]))
"""
    assert stack.run("code", program).strip() == str(["from a config map, from a folder"] * 2)
    _delete(stack, "code")
