"""Gate, engine and operator die before and after each write of gate and engine; others go on and reach the same end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from tests.operator.faulty import faulty
from tests.operator.lives import MARKS
from tests.operator.mortal import Moment, mortal, reads
from tests.quota.gate.stage import GateStage, group

pytestmark = MARKS

_OF_QUOTA: Final = re.compile(r"/workloads(/|\?|$)|PATCH .*/rayclusters/[^/]+(\?|$)")
_QUOTA: Final = 3
Change = Callable[[GateStage], Awaitable[Any]]


def _not_of_quota(request: Request) -> bool:
    return reads(request) or _OF_QUOTA.search(f"{request.method} {request.target}") is None


async def _scaled(ray: GateStage) -> None:
    await ray.until_pods_of("one", 3)
    await ray.until_quota("one", "True", "QuotaReserved")

    async def one_holds() -> bool:
        return len(await ray.workloads()) == 1

    await ray.eventually(one_holds)


async def _swapped(ray: GateStage) -> None:
    await ray.until_pods_of("two", 1)

    async def alone() -> bool:
        return len(await ray.workloads()) == 1 and len(await ray.pods()) == 1

    await ray.eventually(alone)


async def _swap(ray: GateStage) -> None:
    await ray.create_cluster("two", cpu=3)
    await ray.client.delete(RAY_CLUSTERS, "one", ray.namespace)


_CHANGES: Final[dict[str, tuple[Change, Change]]] = {
    "scale up": (lambda ray: ray.scale("one", 2), _scaled),
    "another takes its place": (_swap, _swapped),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("scale up", "before"),
        ("another takes its place", "after"),
        pytest.param("scale up", "after", marks=pytest.mark.soak),
        pytest.param("another takes its place", "before", marks=pytest.mark.soak),
    ],
)
async def test_quota_goes_on_wherever_its_controllers_die(embedded_kubeconfig: Path, name: str, moment: Moment) -> None:
    access = find_access(embedded_kubeconfig)
    edit, done = _CHANGES[name]
    deaths, write = 0, 1
    # One after the other: two engines on one server would both admit.
    while True:
        async with GateStage.on(access) as ray:
            await ray.queue(_QUOTA)
            async with ray.operator():
                await ray.create_cluster("one", groups=[group(replicas=1)])
                await ray.until_pods_of("one", 2)
            client, transport = mortal(ray.client, write, moment, _not_of_quota)
            async with ray.within(_QUOTA):
                await edit(ray)
                async with ray.operator(client):
                    first = asyncio.ensure_future(done(ray))
                    death = asyncio.ensure_future(transport.died.wait())
                    await asyncio.wait((first, death), return_when=asyncio.FIRST_COMPLETED)
                    await transport.settled()
                for task in (first, death):
                    task.cancel()
                await asyncio.gather(first, death, return_exceptions=True)
                async with ray.operator():
                    await done(ray)
        if not transport.died.is_set():
            break
        deaths, write = deaths + 1, write + 1
    assert deaths >= 3


@pytest.mark.timeout(900)
async def test_one_request_in_ten_fails_and_quota_still_holds(embedded_kubeconfig: Path) -> None:
    async with GateStage.on(find_access(embedded_kubeconfig)) as ray:
        await ray.queue(_QUOTA)
        bad, transport = faulty(ray.client, 0.1, 1)
        async with ray.within(_QUOTA), ray.operator(bad):
            await ray.create_cluster("one", groups=[group(replicas=1)])
            await ray.until_pods_of("one", 2)
            await ray.scale("one", 2)
            await _scaled(ray)
            await _swap(ray)
            await _swapped(ray)
        assert transport.faults > 0
