"""Trivial RayJobs on real Ray, one after another, by our operator and by KubeRay's: what the operator adds to Ray.

``python -m bench.joblatency [N] [--mode HTTPMode] [--only ours,kuberay]``: each operator on a stack of its own, each
job on a cluster of its own. Counted are the seconds from the moment the cluster is ready to Ray's ``start_time``, and
from Ray's ``end_time`` to Complete, as a watch shows them, by the clock of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml
from tests.kube.kuberay_stack import kuberay_stack
from tests.ray.stack import PATIENCE, SAMPLES, RayStack

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import RayJob
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.reflector import Reflector
from rayward.net.loop import run_loop
from rayward.operator.ray.jobs import JobInfo

AnyObject = TypeVar("AnyObject", bound=KubeObject)

WANTED = 0.7
"""What ours may take at most of KubeRay's time."""
_ENDED = ("Complete", "Failed", "ValidationFailed")


@contextmanager
def _ours(folder: Path) -> Generator[RayStack]:
    with RayStack(folder / "stack") as stack:
        yield stack


CONTENDERS: dict[str, tuple[str, Callable[[Path], AbstractContextManager[RayStack]]]] = {
    "ours": ("Rayward", _ours),
    "kuberay": ("KubeRay", kuberay_stack),
}


@dataclass(slots=True)
class Figures:
    """Seconds, one for each job."""

    start: list[float] = field(default_factory=list[float])
    """From the RayCluster's ready to Ray's start_time."""
    start_from_pod: list[float] = field(default_factory=list[float])
    """From the head pod's Ready to Ray's start_time: operators may call a cluster ready at different moments."""
    end: list[float] = field(default_factory=list[float])
    """From Ray's end_time to Complete."""

    @property
    def both(self) -> list[float]:
        """What the operator adds to a job."""
        return [start + end for start, end in zip(self.start, self.end, strict=True)]

    @property
    def both_from_pod(self) -> list[float]:
        """The same from the pod's Ready on."""
        return [start + end for start, end in zip(self.start_from_pod, self.end, strict=True)]

    def row(self, name: str) -> str:
        """One line of the table."""
        parts = (self.start, self.end, self.both, self.both_from_pod)
        return f"{name:10}" + "".join(f"{statistics.median(part):>16.2f} s" for part in parts)


class _Moments:
    """When objects were first seen in a state."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], float] = {}
        self._changed = asyncio.Event()

    def follow(self, cache: Cache[AnyObject], what: str, holds: Callable[[AnyObject], bool]) -> None:
        def listener(old: AnyObject | None, new: AnyObject | None) -> None:
            if new is not None and holds(new):
                self.seen.setdefault((what, new.metadata.name), time.time())
            self._changed.set()

        cache.subscribe(listener)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


async def _measure(kubeconfig: Path, count: int, mode: str) -> Figures:
    figures, moments = Figures(), _Moments()
    async with Client.connect(find_access(kubeconfig), user_agent="bench") as client:
        jobs: Cache[RayJob] = Cache(RAY_JOBS, RayJob, keep_raw=False)
        clusters: Cache[RayCluster] = Cache(RAY_CLUSTERS, RayCluster, keep_raw=False)
        pods: Cache[Pod] = Cache(PODS, Pod, keep_raw=False)
        moments.follow(jobs, "ended", lambda job: job.status.job_deployment_status in _ENDED)
        moments.follow(clusters, "ready", lambda cluster: cluster.status.state == "ready")
        moments.follow(pods, "ready", lambda pod: pod.ready)
        reflectors = (Reflector(client, jobs), Reflector(client, clusters), Reflector(client, pods))
        following = [asyncio.ensure_future(reflector.run()) for reflector in reflectors]
        for reflector in reflectors:
            await reflector.wait_synced()
        for number in range(count + 1):
            name = f"trivial-{number}"
            await client.create(RAY_JOBS, _job(name, mode), "default")
            await moments.until(lambda name=name: ("ended", name) in moments.seen)
            # The first one fills caches of the machine.
            await _count(client, name, moments.seen, figures if number else Figures())
            await client.delete(RAY_JOBS, name, "default")
            await moments.until(lambda: not list(clusters) and not list(pods))
        for one in following:
            one.cancel()
    return figures


async def _count(client: Client, name: str, seen: dict[tuple[str, str], float], figures: Figures) -> None:
    status = (await client.get(RAY_JOBS, name, "default"))["status"]
    if status["jobDeploymentStatus"] != "Complete":
        raise SystemExit(f"RayJob {name} failed: {status.get('reason')} {status.get('message')}")
    cluster = status["rayClusterName"]
    selector = f"ray.io/cluster={cluster},ray.io/node-type=head"
    (head,) = (await client.list(PODS, "default", label_selector=selector)).items
    path = f"/api/v1/namespaces/default/pods/{head['metadata']['name']}:8265/proxy/api/jobs/{status['jobId']}"
    info = msgspec.json.decode((await client.attempt(Request("GET", path))).body, type=JobInfo)
    if info.start_time is None or info.end_time is None:
        raise SystemExit(f"Ray does not say when job {status['jobId']} ran")
    figures.start.append(info.start_time / 1000 - seen["ready", cluster])
    figures.start_from_pod.append(info.start_time / 1000 - seen["ready", head["metadata"]["name"]])
    figures.end.append(seen["ended", name] - info.end_time / 1000)


def _job(name: str, mode: str) -> Object:
    made: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    made["metadata"]["name"] = name
    # The cluster stays until it was asked for its times.
    made["spec"] |= {"entrypoint": "true", "submissionMode": mode, "shutdownAfterJobFinishes": False, "backoffLimit": 0}
    del made["spec"]["rayClusterSpec"]["authOptions"]
    return made


def measure(contender: str, count: int, mode: str) -> Figures:
    """One operator on a stack of its own."""
    with tempfile.TemporaryDirectory(prefix="rwb") as name, CONTENDERS[contender][1](Path(name)) as stack:
        return run_loop(_measure(stack.folder / "kubeconfig", count, mode))


def main(words: list[str] | None = None) -> int:
    """Run the contenders one after another; 1 where ours takes more of KubeRay's time than it may."""
    parser = argparse.ArgumentParser(prog="bench.joblatency", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=10, help="jobs in a row")
    parser.add_argument("--mode", default="HTTPMode", help="submissionMode")
    parser.add_argument("--only", default=",".join(CONTENDERS), help="contenders, with commas between")
    options: Any = parser.parse_args(words)
    print(f"{options.count} trivial RayJobs in turn, {options.mode}; medians")
    header = ("ready to start", "end to Complete", "both", "both, from pod")
    print(" " * 10 + "".join(f"{text:>18}" for text in header), flush=True)
    found: dict[str, Figures] = {}
    for name in options.only.split(","):
        found[name] = measure(name, options.count, options.mode)
        print(found[name].row(CONTENDERS[name][0]), flush=True)
    if len(found) == 1:
        return 0
    ours, theirs, worst = found["ours"], found["kuberay"], 0.0
    for what, mine, other in (("ready", ours.both, theirs.both), ("its pod", ours.both_from_pod, theirs.both_from_pod)):
        ratio = statistics.median(mine) / statistics.median(other)
        worst = max(worst, ratio)
        print(f"counted from {what}: {ratio:.2f} x KubeRay's (at most {WANTED})")
    if worst > WANTED:
        print(f"too slow: {worst:.2f} is above {WANTED}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
