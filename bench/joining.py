"""From ``replicas: n+1`` to a joined Ray node, with our init container and with KubeRay's, on real Ray.

``python -m bench.joining [N] [--only idle,busy,crowd]``: N workers of each kind in turn, on an idle machine and with
all of its cores busy; then a crowd of workers that wait while a head comes up. Ours is counted from the edit of the
RayCluster until Ray's dashboard has one more node that is alive; KubeRay's from the creation of the same pod with
KubeRay's init container in place of ours, so that no operator's part is in it.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.ray.stack import PATIENCE, RayStack, is_ready, sample_cluster
from tests.waiting import eventually

from rayward.kinds.labels import CLUSTER, NODE_TYPE, WORKER
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object

WANTED: Final = 0.7
"""What ours may take at most of the time with KubeRay's init container."""
CROWD: Final = 46
"""Of so many, two sat there for a minute while ``ray health-check`` was asked."""
CROWD_WAITS: Final = 20.0
"""Seconds that the last of a crowd may wait after the first was let go, or the head was ready."""
_NAME: Final = "joining"
# As KubeRay v1.6.1 writes it (controllers/ray/common/pod.go).
_HEALTH_CHECK: Final = """
SECONDS=0
while true; do
    if (( SECONDS <= 120 )); then
        if ray health-check --address $FQ_RAY_IP:6379 > /dev/null 2>&1; then
            echo "GCS is ready."
            break
        fi
        echo "$SECONDS seconds elapsed: Waiting for GCS to be ready."
    else
        if ray health-check --address $FQ_RAY_IP:6379; then
            echo "GCS is ready. Any error messages above can be safely ignored."
            break
        fi
        echo "$SECONDS seconds elapsed: Still waiting for GCS to be ready."
    fi
    sleep 5
done
"""


class _Cluster:
    """A cluster that has its head alone, as Ray sees it."""

    def __init__(self, stack: RayStack) -> None:
        manifest = sample_cluster(_NAME, 0)
        del manifest["spec"]["authOptions"]
        stack.apply(manifest)
        stack.becomes_ready(_NAME, 1)
        self._stack = stack
        head = stack.head(_NAME)["metadata"]["name"]
        self._nodes = f"/api/v1/namespaces/default/pods/{head}:8265/proxy/nodes?view=summary"
        # The first one fills caches of the machine, and is what the others are made from.
        self._resize(1)
        self._until_joined()
        (self._worker,) = [pod for pod in stack.pods(_NAME) if pod["metadata"]["labels"][NODE_TYPE] == WORKER]
        self._resize(0)
        self._until_alone()

    def ours(self) -> float:
        """Seconds until a worker of the operator's has joined."""
        began = time.monotonic()
        self._resize(1)
        seconds = self._until_joined() - began
        self._resize(0)
        self._until_alone()
        return seconds

    def kuberay(self) -> float:
        """Seconds until the same pod with KubeRay's init container has joined."""
        spec = copy.deepcopy(self._worker["spec"])
        pod: Object = {"metadata": {"name": "theirs", "labels": {CLUSTER: "theirs"}}, "spec": spec}
        del spec["nodeName"]
        (waiting,) = spec["initContainers"]
        waiting["args"] = [_HEALTH_CHECK]
        began = time.monotonic()
        self._stack.client.create(PODS, pod, "default")
        seconds = self._until_joined() - began
        self._stack.client.delete(PODS, "theirs", "default")
        self._until_alone()
        return seconds

    def crowd(self, count: int) -> list[float]:
        """Seconds until each of many init containers let its worker go, from the first or from when the head was ready.

        The workers themselves are left out: so many of Ray's would not fit this machine.
        """
        self._suspend(True)
        # A head that terminates still answers.
        eventually(lambda: not self._stack.client.list(PODS, "default").items, PATIENCE)
        names = [f"crowd-{number}" for number in range(count)]
        for name in names:
            spec = copy.deepcopy(self._worker["spec"])
            del spec["nodeName"]
            for container in (*spec["initContainers"], *spec["containers"]):
                container.pop("resources", None)
            (ray,) = spec["containers"]
            spec["containers"] = [{"name": "instead", "image": ray["image"], "command": ["sleep", "infinity"]}]
            self._stack.client.create(
                PODS, {"metadata": {"name": name, "labels": {CLUSTER: "crowd"}}, "spec": spec}, "default"
            )
        eventually(lambda: all(map(_waits, self._stack.pods("crowd"))), PATIENCE)
        self._suspend(False)
        let_go: dict[str, float] = {}
        ready = 0.0

        def all_went() -> bool:
            nonlocal ready
            if not ready and any(map(is_ready, self._stack.pods(_NAME))):
                ready = time.monotonic()
            for pod in self._stack.pods("crowd"):
                if pod["status"].get("phase") == "Running":
                    let_go.setdefault(pod["metadata"]["name"], time.monotonic())
            return bool(ready) and len(let_go) == count

        eventually(all_went, PATIENCE)
        for name in names:
            self._stack.client.delete(PODS, name, "default")
        first = min(ready, *let_go.values())
        return [when - first for when in let_go.values()]

    def _suspend(self, suspended: bool) -> None:
        change = {"spec": {"suspend": suspended}}
        self._stack.client.patch(RAY_CLUSTERS, _NAME, change, PatchType.MERGE, "default")

    def _resize(self, replicas: int) -> None:
        change: list[Object] = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": replicas}]
        self._stack.client.patch(RAY_CLUSTERS, _NAME, change, PatchType.JSON, "default")

    def _alive(self) -> int:
        body = self._stack.client.answer(Request("GET", self._nodes, accept="*/*")).body
        nodes = msgspec.json.decode(body)["data"]["summary"]
        return sum(node["raylet"]["state"] == "ALIVE" for node in nodes)

    def _until_joined(self) -> float:
        eventually(lambda: self._alive() == 2, PATIENCE)
        return time.monotonic()

    def _until_alone(self) -> None:
        eventually(lambda: len(self._stack.client.list(PODS, "default").items) == 1 and self._alive() == 1, PATIENCE)


def _waits(pod: Object) -> bool:
    """Whether its init container runs."""
    status: Object = pod.get("status") or {}
    found: list[Object] = status.get("initContainerStatuses") or []
    return any("running" in (each.get("state") or {}) for each in found)


@contextmanager
def _idle() -> Generator[None]:
    yield


@contextmanager
def _busy() -> Generator[None]:
    """As many programs that only compute as there are cores."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


LOADS: Final = {"idle": _idle, "busy": _busy}


def measure(cluster: _Cluster, count: int) -> dict[str, list[float]]:
    """Seconds of each, one after the other, so that both meet the same machine."""
    found: dict[str, list[float]] = {"ours": [], "kuberay": []}
    for _ in range(count):
        found["ours"].append(cluster.ours())
        found["kuberay"].append(cluster.kuberay())
    return found


def main(words: list[str] | None = None) -> int:
    """Measure under each load; 1 where ours takes more of KubeRay's time than it may, or a crowd waits too long."""
    parser = argparse.ArgumentParser(prog="bench.joining", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=5, help="workers of each kind in a row")
    parser.add_argument("--only", default=",".join((*LOADS, "crowd")), help="loads, with commas between")
    options: Any = parser.parse_args(words)
    print(f"{options.count} workers in turn: median seconds until Ray has the node (fewest, most)", flush=True)
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="rwj") as name, RayStack(Path(name) / "stack") as stack:
        cluster = _Cluster(stack)
        chosen = options.only.split(",")
        for load in (each for each in chosen if each in LOADS):
            with LOADS[load]():
                found = measure(cluster, options.count)
            for whose, seconds in found.items():
                print(f"{load:6}{whose:10}{statistics.median(seconds):7.1f} ({min(seconds):.1f}, {max(seconds):.1f})")
            ratio = statistics.median(found["ours"]) / statistics.median(found["kuberay"])
            worst = max(worst, ratio)
            others = f"load average {os.getloadavg()[1]:.1f}"
            print(f"{load:6}{ratio:.2f} x the time with KubeRay's (at most {WANTED}); {others}", flush=True)
        slowest = _crowd(cluster) if "crowd" in chosen else 0.0
    if worst > WANTED:
        print(f"too slow: {worst:.2f} is above {WANTED}", file=sys.stderr)
        return 1
    if slowest > CROWD_WAITS:
        print(f"too slow: a worker waited {slowest:.1f} s longer than others for the same head", file=sys.stderr)
        return 1
    return 0


def _crowd(cluster: _Cluster) -> float:
    waited = sorted(cluster.crowd(CROWD))
    others = f"load average {os.getloadavg()[1]:.1f}"
    print(f"crowd {CROWD} workers, after the first of them: median {statistics.median(waited):.1f} s,", flush=True)
    print(f"crowd the last {waited[-1]:.1f} s (at most {CROWD_WAITS:.0f}); {others}", flush=True)
    return waited[-1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
