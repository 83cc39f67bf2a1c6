"""An engine that dies before or after any write: the next one reaches the same end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from rayward.kinds.kueue import Workload
from rayward.kube.client.access import Access
from rayward.kube.client.request import Request
from tests.operator.mortal import Moment, mortal
from tests.quota.engine.stage import PATIENCE, QuotaStage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("buried")]


def _not_counted(request: Request) -> bool:
    """Reads, events, and what queues report: only the writes that decide."""
    return request.method == "GET" or "/workloads/" not in request.target


@asynccontextmanager
async def _until_death(quota: QuotaStage, write: int, moment: Moment) -> AsyncGenerator[asyncio.Event]:
    """An engine that dies at a write, and then one that does not."""
    client, transport = mortal(quota.client, write, moment, _not_counted)
    async with quota.engine(client):
        yield transport.died
    await transport.settled()


async def _play(quota: QuotaStage, died: asyncio.Event | None = None) -> bool:
    """Two run, one of them grows by a slice, then an important one evicts it; False if the engine died on the way."""
    async with asyncio.timeout(PATIENCE):
        while not (died and died.is_set()):
            workloads = await quota.workloads()
            running = {name for name, one in workloads.items() if one.admitted and not one.evicted and not one.finished}
            _check_quota(workloads)
            for name, one in workloads.items():
                if one.evicted and one.reserved and not one.finished:
                    await quota.stopped(name)
            if "grown" not in workloads and running == {"a", "slice"}:
                await quota.ask("grown", count=5, replaces="slice")
            elif "grown" in running and "high" not in workloads and workloads["slice"].finished:
                await quota.ask("high", 4, priority=9)
            elif running == {"a", "high"}:
                return True
            await asyncio.sleep(0.02)
    return False


def _check_quota(workloads: dict[str, Workload]) -> None:
    """A slice and the one it replaces are both written for a moment; nobody else may use what both hold."""
    held = [one for one in workloads.values() if one.reserved and not one.finished]
    replaced = {one.replaces.rpartition("/")[2] for one in held if one.replaces}
    used = 0
    for one in held:
        if one.status.admission and one.metadata.name not in replaced:
            used += sum(
                int(str((part.resource_usage or {})["cpu"])) for part in one.status.admission.pod_set_assignments
            )
    assert used <= 6


@pytest.fixture
async def quota(access: Access) -> AsyncGenerator[QuotaStage]:
    async with QuotaStage.on(access) as made:
        yield made


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", range(1, 9))
async def test_a_killed_engine_loses_nothing_and_gives_nothing_twice(
    quota: QuotaStage, write: int, moment: Moment
) -> None:
    await quota.queue(cpu=6, preemption={"withinClusterQueue": "LowerPriority"})
    await quota.ask("a", 1)
    await quota.ask("slice", count=3)
    async with _until_death(quota, write, moment) as died:
        finished = await _play(quota, died)
    assert finished == (not died.is_set())
    async with quota.engine():
        assert await _play(quota)
        assert (await quota.until_condition("slice", "Finished")).finished
