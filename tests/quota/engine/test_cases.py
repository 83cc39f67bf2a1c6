"""Who is admitted and who is evicted, decided on a server: by the embedded engine, and by Kueue."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Final

import pytest

from rayward.kinds.resources import COHORTS, RESOURCE_FLAVORS
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from tests.quota.engine.building import groups
from tests.quota.engine.stage import FLAVOR, KueueQuotaStage, QuotaStage

pytestmark = pytest.mark.anyio

_LOWER: Final[dict[str, Any]] = {"withinClusterQueue": "LowerPriority"}
_RECLAIM: Final[dict[str, Any]] = {"reclaimWithinCohort": "Any"}


@pytest.fixture(params=["embedded", pytest.param("kueue", marks=pytest.mark.kube)])
def admits(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def access(admits: str, request: pytest.FixtureRequest) -> Access:
    return find_access(request.getfixturevalue(f"{admits}_kubeconfig"))


@pytest.fixture
async def quota(admits: str, access: Access) -> AsyncGenerator[QuotaStage]:
    if admits == "kueue":
        async with KueueQuotaStage.on(access, kinds=True) as made:
            yield made
    else:
        async with QuotaStage.on(access) as made, made.engine():
            yield made


async def test_a_strict_queue_waits_for_its_first(quota: QuotaStage) -> None:
    await quota.queue(cpu=3, queueingStrategy="StrictFIFO")
    await quota.ask("runs", 2)
    await quota.until_admitted("runs")
    await quota.ask("large", 2, priority=1)
    await quota.until_condition("large", "QuotaReserved", False)
    await quota.ask("small", 1)
    await quota.queue("other", cpu=1)
    await quota.ask("witness", 1, queue="other")
    await quota.until_admitted("runs", "witness")
    await quota.finish("runs")
    await quota.until_admitted("large", "small", "witness")


async def test_any_other_queue_lets_the_next_one_pass(quota: QuotaStage) -> None:
    await quota.queue(cpu=3)
    await quota.ask("runs", 2)
    await quota.until_admitted("runs")
    await quota.ask("large", 2, priority=1)
    await quota.until_condition("large", "QuotaReserved", False)
    await quota.ask("small", 1)
    await quota.until_admitted("runs", "small")


async def test_what_others_do_not_use_is_borrowed_up_to_the_limit(quota: QuotaStage) -> None:
    limited = {"resourceGroups": groups({FLAVOR: {"cpu": (1, 1, None)}})}
    await quota.queue("q", cohort="all", **limited)
    await quota.queue("r", cpu=5, cohort="all")
    await quota.ask("own", 1)
    await quota.ask("borrowed", 1)
    await quota.until_admitted("own", "borrowed")
    await quota.ask("too-much", 1)
    waits = await quota.until_condition("too-much", "QuotaReserved", False)
    assert not waits.reserved


async def test_no_more_is_lent_than_a_queue_lends(quota: QuotaStage) -> None:
    lending = {"resourceGroups": groups({FLAVOR: {"cpu": (4, None, 1)}})}
    await quota.queue("q", cpu=1, cohort="all")
    await quota.queue("r", cohort="all", **lending)
    await quota.ask("two", 2)
    await quota.until_admitted("two")
    await quota.ask("one", 1)
    await quota.until_condition("one", "QuotaReserved", False)
    await quota.ask("kept", 3, queue="r")
    await quota.until_admitted("two", "kept")


async def test_a_queue_takes_its_own_back_from_who_borrowed_it(quota: QuotaStage) -> None:
    await quota.queue("q", cpu=1, cohort="all")
    await quota.queue("r", cpu=2, cohort="all", preemption=_RECLAIM)
    await quota.ask("borrows", 3)
    await quota.until_admitted("borrows")
    await quota.ask("owns", 2, queue="r")
    evicted = await quota.until_condition("borrows", "Preempted")
    found = evicted.condition("Preempted")
    assert found is not None
    assert found.reason == "InCohortReclamation"
    await quota.stopped("borrows")
    await quota.until_admitted("owns")


async def test_the_least_important_goes_for_the_important(quota: QuotaStage) -> None:
    await quota.queue(cpu=2, preemption=_LOWER)
    await quota.ask("low", 1)
    await quota.ask("middle", 1, priority=5)
    await quota.until_admitted("low", "middle")
    await quota.ask("high", 1, priority=9)
    evicted = await quota.until_condition("low", "Preempted")
    found = evicted.condition("Preempted")
    assert found is not None
    assert found.reason == "InClusterQueue"
    await quota.stopped("low")
    await quota.until_admitted("middle", "high")


async def test_equals_wait_for_each_other(quota: QuotaStage) -> None:
    await quota.queue(cpu=1, preemption=_LOWER)
    await quota.ask("first", 1)
    await quota.until_admitted("first")
    await quota.ask("second", 1)
    await quota.until_condition("second", "QuotaReserved", False)
    assert not (await quota.workload("first")).evicted


@pytest.mark.parametrize(("rule", "taken"), [("MayStopSearch", "first"), ("TryNextFlavor", "second")])
async def test_a_queue_borrows_of_its_first_flavor_or_takes_its_second(
    quota: QuotaStage, rule: str, taken: str
) -> None:
    spec = await _two_flavors(quota, {"first": 1, "second": 2})
    await quota.queue("q", cohort="all", flavorFungibility={"whenCanBorrow": rule}, **spec)
    await quota.queue("r", cohort="all", resourceGroups=groups({quota.queue_name("first"): {"cpu": 4}}))
    await quota.ask("w", 2)
    assert await _flavor_of(quota, "w") == quota.queue_name(taken)


@pytest.mark.parametrize(("rule", "evicts"), [("MayStopSearch", True), ("TryNextFlavor", False)])
async def test_a_queue_preempts_in_its_first_flavor_or_takes_its_second(
    quota: QuotaStage, rule: str, evicts: bool
) -> None:
    spec = await _two_flavors(quota, {"first": 1, "second": 1})
    await quota.queue(preemption=_LOWER, flavorFungibility={"whenCanPreempt": rule}, **spec)
    await quota.ask("low", 1)
    assert await _flavor_of(quota, "low") == quota.queue_name("first")
    await quota.ask("high", 1, priority=9)
    if evicts:
        await quota.until_condition("low", "Evicted")
        await quota.stopped("low")
        assert await _flavor_of(quota, "high") == quota.queue_name("first")
    else:
        assert await _flavor_of(quota, "high") == quota.queue_name("second")
        assert not (await quota.workload("low")).evicted


async def test_a_flavor_whose_taint_is_not_tolerated_is_passed_over(quota: QuotaStage) -> None:
    taint = {"key": "only", "value": "others", "effect": "NoSchedule"}
    spec = await _two_flavors(quota, {"first": 5, "second": 1}, nodeTaints=[taint])
    await quota.queue(**spec)
    await quota.ask("w", 1)
    assert await _flavor_of(quota, "w") == quota.queue_name("second")
    await quota.ask("waits", 1)
    await quota.until_condition("waits", "QuotaReserved", False)


async def test_a_slice_asks_for_what_it_adds(quota: QuotaStage) -> None:
    await quota.queue(cpu=5)
    await quota.ask("small", count=3)
    await quota.until_admitted("small")
    await quota.ask("large", count=5, replaces="small")
    done = await quota.until_condition("small", "Finished")
    found = done.condition("Finished")
    assert found is not None
    assert found.reason == "WorkloadSliceReplaced"
    await quota.until_admitted("large")


async def test_nested_cohorts_lend_to_each_other(quota: QuotaStage) -> None:
    for child in ("left", "right"):
        await _cohort(quota, child, "root")
    await quota.queue("q", cpu=1, cohort="left")
    await quota.queue("r", cpu=2, cohort="right")
    await quota.ask("w", 3)
    await quota.until_admitted("w")


async def test_a_circle_of_cohorts_admits_nothing_until_it_is_broken(quota: QuotaStage) -> None:
    # The quota is in the circle's last link: nobody can admit by it who does not see the circle. And the queue is there
    # first: Kueue v0.18.2 does not cache one made inside a circle (Create in
    # pkg/controller/core/clusterqueue_controller.go) until somebody edits it.
    await quota.queue("q", cpu=0, cohort="left")
    await _cohort(quota, "left", "right")
    await _cohort(quota, "right", "left", resourceGroups=groups({FLAVOR: {"cpu": 1}}))
    await quota.ask("w", 1)
    await quota.until_condition("w", "QuotaReserved", False)
    await quota.patch(COHORTS, quota.queue_name("right"), {"spec": {"parentName": None}})
    await quota.until_admitted("w")


async def _cohort(quota: QuotaStage, name: str, parent: str, **spec: Any) -> None:
    body = {
        "apiVersion": COHORTS.api_version,
        "kind": COHORTS.kind,
        "metadata": {"name": quota.queue_name(name)},
        "spec": {"parentName": quota.queue_name(parent), **spec},
    }
    await quota.client.apply(COHORTS, body, field_manager="tests", force=True)


async def _two_flavors(quota: QuotaStage, cpus: dict[str, int], **first: Any) -> dict[str, Any]:
    """The resource group of a queue with flavors of its own, of which the first has more to it."""
    for name, spec in zip(cpus, (first, {}), strict=True):
        body = {
            "apiVersion": RESOURCE_FLAVORS.api_version,
            "kind": RESOURCE_FLAVORS.kind,
            "metadata": {"name": quota.queue_name(name)},
            "spec": spec,
        }
        await quota.client.apply(RESOURCE_FLAVORS, body, field_manager="tests", force=True)
    return {"resourceGroups": groups({quota.queue_name(name): {"cpu": cpu} for name, cpu in cpus.items()})}


async def _flavor_of(quota: QuotaStage, name: str) -> str:
    workload = await quota.until_condition(name, "Admitted")
    assert workload.status.admission is not None
    (assigned,) = workload.status.admission.pod_set_assignments
    return (assigned.flavors or {})["cpu"]
