"""RayJobs in HTTPMode made at once, on a real kube-apiserver with simulated Ray: how the cost grows with their number.

``python -m bench.jobs [N...]``: by default 50 and 500; the exit code is 1 where the cost grows above the limit. Each
number gets a fresh server. Pods are marked Running by a simulated kubelet, and Ray is simulated at an address of its
own for each pod, each in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop
from bench.operator import IN_FLIGHT, PATIENCE, calls, cpu_seconds, peak_megabytes
from tests.beside import beside
from tests.kube.real.cluster import RealControlPlane
from tests.operator.job.stage import ray_job
from tests.waiting import eventually

from rayward.kinds import crds
from rayward.kinds.rayjob import RayJob
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.reflector import Reflector

_ASKED = "POST rayjobs"
GROWTH = 1.1
"""CPU for ten times the jobs may be this many times ten times the CPU."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the operator took for a number of jobs."""

    count: int
    seconds: float
    cpu: float
    peak_megabytes: float
    calls: dict[str, float]

    def row(self) -> str:
        """One line of the table."""
        each = self.cpu / self.count * 1000
        made = sum(self.calls.values()) / self.count
        times = f"{self.count:6}{self.seconds:9.1f} s{self.cpu:9.1f} s{each:9.1f} ms"
        return f"{times}{self.peak_megabytes:8.0f} MB{made:9.2f}"


def measure(count: int) -> Figures:
    """Our operator on a server of its own."""
    flags = ("--disable-admission-plugins=ServiceAccount", "--max-requests-inflight=2000")
    with (
        tempfile.TemporaryDirectory(prefix="rayward-bench-") as name,
        RealControlPlane(fsync=True, apiserver_args=flags) as plane,
    ):
        folder, port = Path(name), _free_port()
        kubeconfig = str(plane.kubeconfig)
        asyncio.run(_define(plane.kubeconfig))
        eventually(lambda: plane.run_kubectl("get", "rayclusters,rayservices,rayjobs,raycronjobs").returncode == 0)
        operator = [sys.executable, "-m", "rayward.operator", "--kubeconfig", kubeconfig, "--leader-election", "false"]
        with (
            beside([sys.executable, "-m", "bench.rayheads", str(port)], folder / "ray.log"),
            beside([sys.executable, "-m", "bench.kubelet", kubeconfig], folder / "kubelet.log"),
            beside(operator, folder / "operator.log") as process,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            return runner.run(_measure(plane.kubeconfig, process.pid, count, port))


async def _define(kubeconfig: Path) -> None:
    async with Client.connect(find_access(kubeconfig), user_agent="bench") as client:
        for manifest in crds.manifests():
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="bench", force=True)


async def _measure(kubeconfig: Path, pid: int, count: int, port: int) -> Figures:
    async with Client.connect(find_access(kubeconfig), user_agent="bench") as client:
        jobs: Cache[RayJob] = Cache(RAY_JOBS, RayJob, keep_raw=False)
        reflector = Reflector(client, jobs)
        following = asyncio.ensure_future(reflector.run())
        await reflector.wait_synced()
        # One job before the count begins: caches are full and code is loaded.
        await _make(client, ["warm-up"], port)
        await _all_complete(jobs, 1)
        before, used, began = await calls(client, _ASKED), cpu_seconds(pid), time.perf_counter()
        waiting = asyncio.ensure_future(_all_complete(jobs, count + 1))
        await _make(client, [f"bench-{number}" for number in range(count)], port)
        await waiting
        seconds = time.perf_counter() - began
        # Events are written behind.
        await asyncio.sleep(5)
        used = cpu_seconds(pid) - used
        after = await calls(client, _ASKED)
        following.cancel()
        made = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
        return Figures(count, seconds, used, peak_megabytes(pid), made)


async def _make(client: Client, names: list[str], port: int) -> None:
    waiting = iter(names)

    async def worker() -> None:
        for name in waiting:
            job = ray_job("work", name)
            job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"] = {"dashboard-port": str(port)}
            await client.create(RAY_JOBS, job, "default")

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def _all_complete(jobs: Cache[RayJob], count: int) -> None:
    complete: set[str] = set()
    done = asyncio.Event()

    def listener(old: RayJob | None, new: RayJob | None) -> None:
        if new is None:
            return
        if new.status.job_deployment_status in ("Failed", "ValidationFailed"):
            raise SystemExit(f"RayJob {new.metadata.name} failed: {new.status.reason} {new.status.message}")
        if new.status.job_deployment_status == "Complete":
            complete.add(new.metadata.name)
            if len(complete) >= count:
                done.set()

    jobs.subscribe(listener)
    for job in jobs:
        listener(None, job)
    async with asyncio.timeout(PATIENCE):
        await done.wait()


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("0.0.0.0", 0))
        return int(held.getsockname()[1])


def main(words: list[str] | None = None) -> int:
    """Print one line for each number of jobs, and how the cost grows; 1 where it grows above the limit."""
    parser = argparse.ArgumentParser(prog="bench.jobs", description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[50, 500])
    parser.add_argument("--calls", action="store_true", help="also print the calls one by one")
    options: Any = parser.parse_args(words or [])
    print("RayJobs in HTTPMode at once, until all are Complete; a job takes 1.2 s of Ray's time")
    print(f"{'jobs':>6}{'wall':>11}{'CPU':>11}{'CPU each':>12}{'peak':>11}{'calls':>9}")
    found: list[Figures] = []
    for count in options.counts:
        found.append(measure(count))
        print(found[-1].row(), flush=True)
        if options.calls:
            for what, number in sorted(found[-1].calls.items()):
                print(f"    {what:34}{number / count:8.2f}")
    if len(found) == 1:
        return 0
    small, large = found[0], found[-1]
    growth = (large.cpu / large.count) / (small.cpu / small.count)
    print(f"CPU of a job among {large.count}: {growth:.2f} x of that among {small.count} (at most {GROWTH})")
    if growth > GROWTH:
        print(f"too much: {growth:.2f} is above {GROWTH}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
