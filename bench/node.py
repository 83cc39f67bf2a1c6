"""How long a pod takes to run beside a plain process, and what two hundred pods at once cost the node.

    python -m bench.node

Everything is as a user has it: API server, controllers and node are processes of their own; a watch tells of the pods.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop
from tests.node.machine import Machine, sandbox_processes

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.reflector import Reflector

_ALONE = 20
_TOGETHER = 200
_PATIENCE = 600.0
_COMMAND = ["sh", "-c", "echo up; exec sleep 3600"]
_TICKS = os.sysconf("SC_CLK_TCK")


class _Watched:
    """When pods were seen to run, and to be gone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._running: dict[str, asyncio.Future[float]] = {}
        self._gone: dict[str, asyncio.Future[float]] = {}

    def see(self, old: Pod | None, new: Pod | None) -> None:
        """The cache changed."""
        found = new or old
        if found is None:
            return
        if new is None:
            _note(self._gone, found.metadata.name)
        elif new.status.phase == "Running":
            _note(self._running, found.metadata.name)

    async def run(self, name: str) -> float:
        """Create a pod; returns the seconds until it ran."""
        seen = self._running[name] = asyncio.get_running_loop().create_future()
        container = {"name": "c", "image": "busybox", "command": _COMMAND}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "restartPolicy": "Never"}
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        began = time.perf_counter()
        await self._client.create(PODS, body, "default")
        return await asyncio.wait_for(seen, _PATIENCE) - began

    async def end(self, name: str) -> None:
        """Delete a pod and wait until it is gone."""
        seen = self._gone[name] = asyncio.get_running_loop().create_future()
        await self._client.delete(PODS, name, "default")
        await asyncio.wait_for(seen, _PATIENCE)


def _note(waiting: dict[str, asyncio.Future[float]], name: str) -> None:
    seen = waiting.get(name)
    if seen is not None and not seen.done():
        seen.set_result(time.perf_counter())


@asynccontextmanager
async def _watched(machine: Machine) -> AsyncGenerator[_Watched]:
    async with Client.connect(find_access(machine.kubeconfig)) as client:
        pods: Cache[Pod] = Cache(PODS, Pod, keep_raw=False)
        watched = _Watched(client)
        pods.subscribe(watched.see)
        reflector = Reflector(client, pods)
        following = asyncio.ensure_future(reflector.run())
        await reflector.wait_synced()
        try:
            yield watched
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def _plain_start() -> float:
    began = time.perf_counter()
    with subprocess.Popen(_COMMAND, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        took = time.perf_counter() - began
        process.kill()
    return took


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _kilobytes(path: str, field: str) -> int:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


async def _one_by_one(machine: Machine) -> None:
    async with _watched(machine) as pods:
        await pods.run("warm-up")
        await pods.end("warm-up")
        times: list[float] = []
        for number in range(_ALONE):
            times.append(await pods.run(f"alone-{number}"))
            await pods.end(f"alone-{number}")
    plain = statistics.median([_plain_start() for _ in range(_ALONE)])
    pod = statistics.median(times)
    print(f"  a pod, created to Running     median {pod * 1e3:7.1f} ms   slowest {max(times) * 1e3:7.1f} ms")
    print(f"  a process, to its first word  median {plain * 1e3:7.1f} ms   ratio {pod / plain:.0f}")


async def _all_at_once(machine: Machine) -> None:
    node = machine.pid_of("node")
    async with _watched(machine) as pods:
        spent, server = _spent(node), _spent(machine.pid_of("api"))
        began = time.perf_counter()
        times = await asyncio.gather(*(pods.run(f"crowd-{number}") for number in range(_TOGETHER)))
        took = time.perf_counter() - began
        spent, server = _spent(node) - spent, _spent(machine.pid_of("api")) - server
        peak = _kilobytes(f"/proc/{node}/status", "VmHWM:") / 1e3
        sandboxes = sandbox_processes(machine.folder)
        inits = sum(_kilobytes(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in sandboxes) / 1e3
        last = max(times)
        print(f"  {_TOGETHER} pods at once, all Running  {took:7.1f} s    {_TOGETHER / last:.0f} pods per second")
        print(f"  CPU of the node               {spent:7.1f} s    {spent / _TOGETHER * 1e3:.1f} ms per pod")
        print(f"  CPU of the API server         {server:7.1f} s    {server / _TOGETHER * 1e3:.1f} ms per pod")
        print(f"  memory of the node, peak      {peak:7.1f} MB")
        print(f"  memory of the pods' inits     {inits:7.1f} MB   {inits / _TOGETHER:.1f} MB per pod")
        began = time.perf_counter()
        await asyncio.gather(*(pods.end(f"crowd-{number}") for number in range(_TOGETHER)))
        print(f"  all of them gone again        {time.perf_counter() - began:7.1f} s")


def main() -> int:
    """Run and print."""
    print("node")
    with (
        Machine("--nodes", "2", "--cpus", "64", "--memory", "64Gi", "--name", "bench") as machine,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_one_by_one(machine))
        runner.run(_all_at_once(machine))
    return 0


if __name__ == "__main__":
    sys.exit(main())
