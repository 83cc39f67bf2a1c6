"""KubeRay's own definition has no conditions and no attempts of jobs: they are annotations there, and as true."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from rayward.changes.jobsummary import summary
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import EVENTS
from rayward.kube.machinery.jsonvalue import Object
from tests.operator.job.stage import NAME, JobStage, ray_job
from tests.operator.kubelet import add_node
from tests.operator.service.servers import embedded_with_stock_definitions

pytestmark = [pytest.mark.anyio, pytest.mark.kube]


@pytest.fixture(scope="module")
def stock_kubeconfig() -> Iterator[Path]:
    with embedded_with_stock_definitions() as kubeconfig:
        yield kubeconfig


@pytest.fixture
async def stock(stock_kubeconfig: Path) -> AsyncGenerator[JobStage]:
    access = find_access(stock_kubeconfig)
    async with Client.connect(access) as client:
        await add_node(client)
        async with JobStage.among(client, access) as ray:
            yield ray


def _conditions(found: Object) -> dict[str, tuple[str, str]]:
    kept = json.loads(found["metadata"]["annotations"]["rayward.dev/conditions"])
    return {one["type"]: (one["status"], one["reason"]) for one in kept}


def _reasons(found: Object) -> list[str]:
    return [row["reason"] for row in json.loads(found["metadata"]["annotations"]["rayward.dev/attempts"])]


async def test_a_life_of_many_attempts_is_told_in_annotations(stock: JobStage) -> None:
    async with stock.operator():
        await stock.create(ray_job("run", backoffLimit=1))
        await stock.until_job("RUNNING")
        await stock.edit(entrypoint="fail")

        async def ignored() -> bool:
            return _conditions(await stock.job()).get("SpecInUse") == ("False", "EditIgnored")

        await stock.eventually(ignored)
        await stock.edit(suspend=True)
        found = await stock.until("Suspended")
        assert _conditions(found)["Suspended"] == ("True", "Suspended")
        assert summary(found, 0).cause == "Suspended"
    # what the next operator says goes on from what this one wrote
    async with stock.operator():
        await stock.edit(suspend=False)
        found = await stock.until("Failed")
        assert not {"conditions", "attempts"} & set(found["status"])
        assert _reasons(found) == ["Suspended", "AppFailed", "AppFailed"]
        assert _conditions(found)["Failed"] == ("True", "AppFailed")
        assert found["status"]["failed"] == 2

        async def told() -> bool:
            return {"Suspended", "Retrying", "Failed"} <= {one["reason"] for one in await stock.objects(EVENTS)}

        await stock.eventually(told)
    runs = stock.heads.runs()
    assert len(runs) == len(set(runs)) == 3


async def test_what_is_pruned_is_not_written_again_and_again(stock: JobStage) -> None:
    writes: list[Request] = []

    def observe(request: Request, status: int) -> None:
        if request.method != "GET" and f"/rayjobs/{NAME}" in request.target:
            writes.append(request)

    async with Client.connect(stock.access, observe=observe) as observed, stock.operator(observed) as manager:
        await stock.create(ray_job())
        await stock.until("Complete")
        loop = manager.controllers["rayjob"]

        async def rests() -> bool:
            return loop.controller.idle

        async def quiet() -> bool:
            # what still happened after the end may be told once; what is pruned would be told each time
            await stock.eventually(rests)
            before = len(writes)
            for _ in range(3):
                loop.controller.add(Key(stock.namespace, NAME))
                await stock.eventually(rests)
            return len(writes) == before

        await stock.eventually(quiet)
        assert writes
