"""The whole process of the operator, with gate and engine, is killed in the middle: the next one goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.config import find_access
from tests.operator.service.conftest import real_kubeconfig
from tests.operator.service.servers import embedded
from tests.operator.stage import condition
from tests.quota.gate.stage import GateStage, group

__all__ = ["real_kubeconfig"]
pytestmark = pytest.mark.anyio

_QUOTA: Final = 3
_HIGH: Final = {"kueue.x-k8s.io/priority-class": "high"}
State = Callable[[], Awaitable[bool]]


@pytest.fixture(scope="module")
def embedded_kubeconfig() -> Iterator[Path]:
    """Of a server of its own: the engine of a process counts all there is."""
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kube)])
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(f"{request.param}_kubeconfig")


class Processes:
    """One process of the operator after the other."""

    def __init__(self, ray: GateStage, kubeconfig: Path, folder: Path) -> None:
        self._ray = ray
        self._kubeconfig = kubeconfig
        self._folder = folder
        self.kills = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """A process that is killed at the end, wherever it is then."""
        flags = [f"--kubeconfig={self._kubeconfig}", "--admission=embedded", "--leader-election=false"]
        log = self._folder / f"operator-{self.kills}.log"
        with log.open("wb") as output:
            command = [sys.executable, "-m", "rayward.cli", "operator", "run", *flags]
            process = await asyncio.create_subprocess_exec(*command, stderr=output, stdout=output)
        try:
            yield
            assert process.returncode is None, log.read_text()[-3000:]
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            self.kills += 1

    async def run_until(self, state: State) -> None:
        """Killed as soon as something is so."""
        async with self.running():
            await self._ray.eventually(state)


async def test_a_killed_operator_leaves_quota_pods_and_queues_to_the_next_one(kubeconfig: Path, tmp_path: Path) -> None:
    async with GateStage.on(find_access(kubeconfig)) as ray:

        async def asked(annotation: str = names.SLICE_NAME) -> bool:
            return any(annotation in one["metadata"]["annotations"] for one in await ray.workloads("one"))

        async def runs(cluster: str, pods: int) -> bool:
            return len(await ray.pods_of(cluster)) >= pods

        async def stopped(cluster: str) -> bool:
            return not await ray.pods_of(cluster)

        async def told(kind: str) -> bool:
            return any(condition(one, kind).get("status") == "True" for one in await ray.workloads("one"))

        operator = Processes(ray, kubeconfig, tmp_path)
        await ray.queue(_QUOTA, preemption={"withinClusterQueue": "LowerPriority"})
        await ray.priority("high", 100)
        async with ray.within(_QUOTA):
            await ray.create_cluster("one", groups=[group(replicas=1)])
            await operator.run_until(asked)
            await operator.run_until(lambda: told(names.QUOTA_RESERVED))
            await operator.run_until(lambda: runs("one", 1))
            await operator.run_until(lambda: runs("one", 2))
            await ray.scale("one", 2)
            await operator.run_until(lambda: asked(names.SLICE_REPLACEMENT_FOR))
            await operator.run_until(lambda: runs("one", 3))
            await ray.until_next_second()
            await ray.create_cluster("urgent", cpu=_QUOTA, labels=_HIGH)
            await operator.run_until(lambda: told(names.EVICTED))
            await operator.run_until(lambda: stopped("one"))
            await operator.run_until(lambda: runs("urgent", 1))
            await ray.client.delete(RAY_CLUSTERS, "urgent", ray.namespace)
            await operator.run_until(lambda: stopped("urgent"))
            async with operator.running():
                await ray.until_pods_of("one", 3)
                await ray.until_quota("one", "True", "QuotaReserved")
                assert len(await ray.workloads()) == 1
                await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)
                await ray.until_no_workloads()
        assert operator.kills >= 10
