"""A whole local Rayward with real Ray, as a user has it: the command line, and the API beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import PODS
from tests.waiting import eventually

PATIENCE: Final = 300.0
SAMPLES: Final = Path(__file__).parents[2] / "samples"

Object = dict[str, Any]

_EVERYWHERE: Final = """
import json, os, socket
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

ray.init(log_to_driver=False)

@ray.remote(num_cpus=0)
def where():
    return [ray.get_runtime_context().get_node_id(), socket.gethostname(), os.readlink("/proc/self/ns/net")]

nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
print(json.dumps(ray.get([where.options(scheduling_strategy=On(node, soft=False)).remote() for node in nodes])))
"""


class RayStack:
    """``rayward up`` for the length of a ``with`` block."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self._flags = flags

    def __enter__(self) -> Self:
        self.rayward("up", "--cpus", "16", "--memory", "32Gi", *self._flags)
        self.connect()
        return self

    def connect(self) -> None:
        """Use the server that runs now."""
        self.client = SyncClient.connect(find_access(self.folder / "kubeconfig"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.rayward("down", "--purge")

    def program(self, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """How a command ended, and what it printed."""
        command = [sys.executable, "-m", "rayward.cli", *words]
        environment = {**os.environ, "RAYWARD_DATA_DIR": str(self.folder)}
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=600, env=environment)

    def rayward(self, *words: str, given: str | None = None) -> str:
        """What a command prints; it must succeed."""
        done = self.program(*words, given=given)
        assert done.returncode == 0, f"rayward {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def apply(self, *manifests: Object) -> None:
        """``rayward apply`` of manifests."""
        self.rayward("apply", "-f", "-", given=yaml.safe_dump_all(manifests))

    def pods(self, cluster: str) -> list[Object]:
        """The pods of a Ray cluster that are not on their way out."""
        found = self.client.list(PODS, "default", label_selector=f"ray.io/cluster={cluster}").items
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def head(self, cluster: str) -> Object:
        """The head's pod."""
        return next(pod for pod in self.pods(cluster) if pod["metadata"]["labels"]["ray.io/node-type"] == "head")

    def run(self, cluster: str, program: str) -> str:
        """What a Python program prints on the head."""
        return self.rayward("exec", self.head(cluster)["metadata"]["name"], "--", "python", "-c", program)

    def everywhere(self, cluster: str) -> list[tuple[str, str, str]]:
        """A task on every Ray node: its node id, its pod's host name, its network namespace."""
        printed = self.run(cluster, _EVERYWHERE)
        return [tuple(place) for place in json.loads(printed.strip().splitlines()[-1])]

    def becomes_ready(self, cluster: str, pods: int) -> None:
        """Wait until the cluster is ready with that many pods, and tasks run on each."""

        def ready() -> bool:
            seen = self.pods(cluster)
            return len(seen) == pods and all(is_ready(pod) for pod in seen)

        eventually(ready, PATIENCE)
        status = lambda: self.client.get(RAY_CLUSTERS, cluster, "default").get("status") or {}  # noqa: E731
        eventually(lambda: _condition(status(), "Ready") == "True", PATIENCE)
        names = {pod["metadata"]["name"] for pod in self.pods(cluster)}
        eventually(lambda: {host for _, host, _ in self.everywhere(cluster)} == names, PATIENCE)


def sample_cluster(name: str, workers: int, **spec: Any) -> Object:
    """The sample RayCluster under another name and size."""
    manifest: Object = yaml.safe_load((SAMPLES / "raycluster.yaml").read_text())
    manifest["metadata"]["name"] = name
    manifest["spec"]["workerGroupSpecs"][0]["replicas"] = workers
    manifest["spec"] |= spec
    ends_soon(manifest["spec"])
    return manifest


def ends_soon(cluster: Object) -> None:
    """Ray's processes hear of no SIGTERM behind their shell, here as under KubeRay: its pods use up their grace."""
    for group in (cluster["headGroupSpec"], *cluster.get("workerGroupSpecs", ())):
        group["template"]["spec"].setdefault("terminationGracePeriodSeconds", 5)


def is_ready(pod: Object) -> bool:
    """Whether a pod is Ready."""
    return _condition(pod.get("status") or {}, "Ready") == "True"


def _condition(status: Object, kind: str) -> str:
    return next((found["status"] for found in status.get("conditions") or () if found["type"] == kind), "")
