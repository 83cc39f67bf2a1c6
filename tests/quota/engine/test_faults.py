"""A server that fails every tenth time."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from rayward.kube.client.access import Access
from tests.operator.faulty import faulty
from tests.quota.engine.stage import QuotaStage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("buried")]


@pytest.fixture
async def quota(access: Access) -> AsyncGenerator[QuotaStage]:
    async with QuotaStage.on(access) as made:
        yield made


@pytest.mark.parametrize("seed", range(3))
async def test_everybody_gets_a_turn_and_quota_is_never_given_twice(quota: QuotaStage, seed: int) -> None:
    await quota.queue(cpu=3, preemption={"withinClusterQueue": "LowerPriority"})
    client, _ = faulty(quota.client, 0.1, seed)
    for number in range(8):
        await quota.ask(f"w{number}", 1 + number % 2, priority=number % 3)

    async def all_done() -> bool:
        found = await quota.workloads()
        held = [one for one in found.values() if one.reserved and not one.finished]
        used = sum(
            int(str((part.resource_usage or {})["cpu"]))
            for one in held
            for part in (one.status.admission.pod_set_assignments if one.status.admission else ())
        )
        assert used <= 3
        for name, one in found.items():
            if one.evicted and one.reserved:
                await quota.stopped(name)
            elif one.admitted and not one.finished:
                await quota.finish(name)
        return all(one.finished for one in found.values())

    async with quota.engine(client):
        await quota.until(all_done)
