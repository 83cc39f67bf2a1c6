"""Gate, engine and operator die before and after each write of gate and engine; others go on and reach the same end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from tests.operator.faulty import faulty
from tests.operator.lives import MARKS
from tests.operator.mortal import Moment, mortal, reads
from tests.quota.gate.stage import GateStage, group, queued_service, release

pytestmark = MARKS

_OF_QUOTA: Final = re.compile(r"/workloads(/|\?|$)|PATCH .*/ray(clusters|jobs)/[^/]+(\?|$)")
_QUOTA: Final = 3
_HIGH: Final = {"kueue.x-k8s.io/priority-class": "high"}
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


async def _two_run(ray: GateStage) -> None:
    await ray.create_cluster("one", groups=[group(replicas=1)])
    await ray.until_pods_of("one", 2)


async def _serves(ray: GateStage) -> None:
    await ray.create(queued_service(2, rayClusterDeletionDelaySeconds=0))
    await ray.until_settled()


async def _upgrade(ray: GateStage) -> None:
    """The new release is as large as what somebody more important asks for."""
    await ray.annotate(pause="true")
    await ray.until_next_second()
    await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
    await ray.create_cluster("urgent", labels=_HIGH)


async def _surge_waits(ray: GateStage) -> None:
    await ray.until_pods_of("urgent", 1)
    (new,) = await ray.until_names(lambda found: len(found) == 3) - {"urgent", await ray.serving()}
    await ray.until_pods_of(new, 0)
    await ray.until_quota(new, "False")
    assert len(await ray.pods_of(await ray.serving())) == 1


async def _job_runs(ray: GateStage) -> None:
    await ray.create_job("train", head=1)
    await ray.until_workload_pods("train", 1)
    await ray.until_next_second()


async def _resumed(ray: GateStage) -> None:
    """The important one comes, runs and goes; its part is played once, however often this begins."""
    if "urgent" in await ray.names():
        await ray.until_pods_of("urgent", 1)
        await ray.client.delete(RAY_CLUSTERS, "urgent", ray.namespace)
    await ray.until_pods_of("urgent", 0)
    await ray.until_workload_pods("train", 1)

    async def is_free() -> bool:
        found = await ray.client.get(RAY_JOBS, "train", ray.namespace)
        marked = labels.SUSPENDED_BY in found["metadata"].get("annotations", {})
        return not marked and not found["spec"].get("suspend")

    await ray.eventually(is_free)


@dataclass(frozen=True)
class Case:
    """What runs, what a user does, and when it is done."""

    begun: Change
    edit: Change
    done: Change


_CHANGES: Final = {
    "scale up": Case(_two_run, lambda ray: ray.scale("one", 2), _scaled),
    "another takes its place": Case(_two_run, _swap, _swapped),
    "an upgrade is preempted": Case(_serves, _upgrade, _surge_waits),
    "a job is preempted and resumed": Case(
        _job_runs, lambda ray: ray.create_cluster("urgent", cpu=3, labels=_HIGH), _resumed
    ),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "moment", "stride"),
    [
        ("scale up", "before", 1),
        ("another takes its place", "after", 1),
        ("an upgrade is preempted", "after", 4),
        ("a job is preempted and resumed", "before", 4),
        *(pytest.param(name, moment, 1, marks=pytest.mark.soak) for name in _CHANGES for moment in ("before", "after")),
    ],
)
async def test_quota_goes_on_wherever_its_controllers_die(
    embedded_kubeconfig: Path, name: str, moment: Moment, stride: int
) -> None:
    """At every write, or at every so many of them."""
    access = find_access(embedded_kubeconfig)
    case = _CHANGES[name]
    deaths, write = 0, 1
    # One after the other: two engines on one server would both admit.
    while True:
        async with GateStage.on(access) as ray:
            await ray.queue(_QUOTA, preemption={"withinClusterQueue": "LowerPriority"})
            await ray.priority("high", 100)
            async with ray.operator():
                await case.begun(ray)
            client, transport = mortal(ray.client, write, moment, _not_of_quota)
            async with ray.within(_QUOTA):
                await case.edit(ray)
                async with ray.operator(client):
                    first = asyncio.ensure_future(case.done(ray))
                    death = asyncio.ensure_future(transport.died.wait())
                    await asyncio.wait((first, death), return_when=asyncio.FIRST_COMPLETED)
                    await transport.settled()
                for task in (first, death):
                    task.cancel()
                await asyncio.gather(first, death, return_exceptions=True)
                async with ray.operator():
                    await case.done(ray)
        if not transport.died.is_set():
            break
        deaths, write = deaths + 1, write + stride
    assert deaths >= 2


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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["an upgrade is preempted", "a job is preempted and resumed"])
async def test_one_request_in_ten_fails_and_who_is_preempted_comes_to_the_same_end(
    embedded_kubeconfig: Path, name: str
) -> None:
    case = _CHANGES[name]
    async with GateStage.on(find_access(embedded_kubeconfig)) as ray:
        await ray.queue(_QUOTA, preemption={"withinClusterQueue": "LowerPriority"})
        await ray.priority("high", 100)
        bad, transport = faulty(ray.client, 0.1, 1)
        async with ray.within(_QUOTA), ray.operator(bad):
            await case.begun(ray)
            await case.edit(ray)
            await case.done(ray)
        assert transport.faults > 0
