"""What the engine costs the server: on a busy one, requests are what admission waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator

import pytest

from rayward.kinds.resources import WORKLOADS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.request import Request
from rayward.kube.core.resource import EVENTS
from tests.quota.engine.stage import QuotaStage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def quota(access: Access) -> AsyncGenerator[QuotaStage]:
    async with QuotaStage.on(access) as made:
        yield made


async def test_a_workload_that_fits_costs_one_write_and_one_event(quota: QuotaStage) -> None:
    number = 30
    writes: Counter[str] = Counter()

    def observe(request: Request, status: int) -> None:
        path = request.target.partition("?")[0]
        if request.method != "GET" and f"/{quota.namespace}/" in path:
            writes.update(each.plural for each in (WORKLOADS, EVENTS) if f"/{each.plural}" in path)

    await quota.queue(cpu=number)
    async with Client.connect(quota.access, observe=observe) as client, quota.engine(client):
        wanted = [f"w{each}" for each in range(number)]
        for name in wanted:
            await quota.ask(name)
        await quota.until_admitted(*wanted)
        for name in wanted:
            await quota.finish(name)

        async def told() -> bool:
            return writes[EVENTS.plural] >= number

        await quota.until(told)
    assert writes == {WORKLOADS.plural: number, EVENTS.plural: number}
