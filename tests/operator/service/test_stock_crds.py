"""KubeRay's own CRDs drop the fields that only ours have: the status is told once all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key
from tests.operator.kubelet import add_node
from tests.operator.service.servers import embedded_with_stock_definitions
from tests.operator.service.stage import NAME, ServiceStage, config, service

pytestmark = [pytest.mark.anyio, pytest.mark.kube]


@pytest.fixture
def stock_kubeconfig() -> Iterator[Path]:
    with embedded_with_stock_definitions() as kubeconfig:
        yield kubeconfig


async def test_a_status_that_is_pruned_is_not_written_again_and_again(stock_kubeconfig: Path) -> None:
    writes: list[Request] = []

    def observe(request: Request, status: int) -> None:
        if request.method != "GET" and f"/rayservices/{NAME}/status" in request.target:
            writes.append(request)

    access = find_access(stock_kubeconfig)
    async with Client.connect(access) as client, Client.connect(access, observe=observe) as observed:
        await add_node(client)
        async with ServiceStage.among(client, access) as ray, ray.operator(observed) as manager:
            await ray.create(service())
            await ray.until_settled()
            await ray.edit(serveConfigV2=config("app:two"))
            await ray.until_settled()
            status = (await ray.service())["status"]
            assert "appStatus" not in status
            assert status["serviceStatus"] == "Running"
            loop = manager.controllers["rayservice"]

            async def rests() -> bool:
                return loop.controller.idle

            async def quiet() -> bool:
                # what still happened after the upgrade may be told once; what is pruned would be told each time
                await ray.eventually(rests)
                before = len(writes)
                for _ in range(3):
                    loop.controller.add(Key(ray.namespace, NAME))
                    await ray.eventually(rests)
                return len(writes) == before

            await ray.eventually(quiet)
    for _ in range(20):
        await asyncio.sleep(0)
