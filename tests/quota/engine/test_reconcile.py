"""The engine on a server: objects in, statuses out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rayward.kinds.resources import ADMISSION_CHECKS, CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOADS
from rayward.kube.client.access import Access
from tests.operator.stage import condition
from tests.quota.engine.stage import QuotaStage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def quota(access: Access) -> AsyncGenerator[QuotaStage]:
    async with QuotaStage.on(access) as made:
        yield made


async def test_workloads_are_admitted_as_far_as_quota_goes_and_the_next_when_one_ends(quota: QuotaStage) -> None:
    await quota.queue(cpu=2)
    async with quota.engine():
        for number in range(3):
            await quota.ask(f"w{number}")
            if number < 2:
                # Of workloads of one second the order is by chance.
                await quota.until_admitted(*(f"w{each}" for each in range(number + 1)))
        waiting = await quota.until_condition("w2", "QuotaReserved", False)
        condition = waiting.condition("QuotaReserved")
        assert condition
        assert condition.reason == "Pending"
        assert "insufficient unused quota for cpu" in condition.message
        await quota.finish("w0")
        await quota.until_admitted("w1", "w2")

        async def told() -> bool:
            found = await quota.events("w2")
            return {"Pending", "Admitted"} <= found and "QuotaReserved" not in found

        await quota.until(told)


async def test_the_admission_is_written_as_kueue_writes_it(quota: QuotaStage) -> None:
    await quota.queue()
    async with quota.engine():
        await quota.ask("w", count=3)
        await quota.until_admitted("w")
    raw = await quota.client.get(WORKLOADS, "w", quota.namespace)
    assert raw["status"]["admission"] == {
        "clusterQueue": quota.queue_name("q"),
        "podSetAssignments": [
            {
                "name": "main",
                "flavors": {"cpu": "default-flavor"},
                "resourceUsage": {"cpu": "3"},
                "count": 3,
            }
        ],
    }
    managers = {entry["manager"] for entry in raw["metadata"]["managedFields"] if entry.get("subresource") == "status"}
    assert managers == {"kueue-admission"}


async def test_queues_report_who_waits_and_what_is_used(quota: QuotaStage) -> None:
    await quota.queue(cpu=2)
    async with quota.engine():
        for number in range(3):
            await quota.ask(f"w{number}")

        async def told() -> bool:
            name = quota.queue_name("q")
            status: Any = (await quota.client.get(CLUSTER_QUEUES, name)).get("status", {})
            local: Any = (await quota.client.get(LOCAL_QUEUES, "q", quota.namespace)).get("status", {})
            numbers = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
            return all([part.get(one) for one in numbers] == [1, 2, 2] for part in (status, local)) and status[
                "flavorsUsage"
            ] == [{"name": "default-flavor", "resources": [{"name": "cpu", "total": "2", "borrowed": "0"}]}]

        await quota.until(told)
        status: Any = (await quota.client.get(CLUSTER_QUEUES, quota.queue_name("q")))["status"]
        assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
            ("Active", "True", "Ready")
        ]


async def test_an_important_workload_evicts_and_waits_until_the_pods_are_gone(quota: QuotaStage) -> None:
    await quota.queue(cpu=2, preemption={"withinClusterQueue": "LowerPriority"})
    async with quota.engine():
        await quota.ask("low", 2)
        await quota.until_admitted("low")
        await quota.ask("high", 2, priority=5)
        evicted = await quota.until_condition("low", "Evicted")
        assert evicted.reserved
        assert (evicted.condition("Preempted") or evicted.condition("Evicted")).reason == "InClusterQueue"  # type: ignore[union-attr]
        assert not (await quota.workload("high")).reserved
        await quota.stopped("low")
        await quota.until_admitted("high")
        await quota.finish("high")
        back = await quota.until_condition("low", "Admitted")
        assert not back.evicted


async def test_a_slice_takes_the_place_of_the_one_it_replaces(quota: QuotaStage) -> None:
    await quota.queue(cpu=5)
    async with quota.engine():
        await quota.ask("s0", count=3)
        await quota.until_admitted("s0")
        await quota.ask("s1", count=5, replaces="s0")
        await quota.until_admitted("s1")
        done = await quota.until_condition("s0", "Finished")
        assert done.condition("Finished").reason == "WorkloadSliceReplaced"  # type: ignore[union-attr]


async def test_admission_waits_for_checks(quota: QuotaStage) -> None:
    name = quota.queue_name("check")
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": "example.com/check"},
    }
    await quota.client.create(ADMISSION_CHECKS, body)
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    made = await quota.client.get(ADMISSION_CHECKS, name)
    await quota.client.update(ADMISSION_CHECKS, {**made, "status": {"conditions": [active]}}, subresource="status")
    await quota.queue(admissionChecksStrategy={"admissionChecks": [{"name": name}]})
    async with quota.engine():
        await quota.ask("w")
        reserved = await quota.until_condition("w", "QuotaReserved")
        assert not reserved.admitted

        async def asked() -> bool:
            return bool((await quota.workload("w")).status.admission_checks)

        await quota.until(asked)
        found = await quota.client.get(WORKLOADS, "w", quota.namespace)
        found["status"]["admissionChecks"][0]["state"] = "Ready"
        await quota.client.update(WORKLOADS, found, subresource="status")
        await quota.until_admitted("w")


async def test_a_drained_queue_evicts_and_a_restarted_one_takes_back(quota: QuotaStage) -> None:
    await quota.queue()
    async with quota.engine():
        await quota.ask("w")
        await quota.until_admitted("w")
        await quota.patch(CLUSTER_QUEUES, quota.queue_name("q"), {"spec": {"stopPolicy": "HoldAndDrain"}})
        evicted = await quota.until_condition("w", "Evicted")
        assert evicted.condition("Evicted").reason == "ClusterQueueStopped"  # type: ignore[union-attr]
        await quota.set_condition("w", "Requeued", False, "ClusterQueueStopped")
        await quota.stopped("w")
        await quota.patch(CLUSTER_QUEUES, quota.queue_name("q"), {"spec": {"stopPolicy": "None"}})
        await quota.until_admitted("w")


async def test_a_deactivated_workload_is_evicted_and_comes_back_when_reactivated(quota: QuotaStage) -> None:
    await quota.queue()
    async with quota.engine():
        await quota.ask("w")
        await quota.until_admitted("w")
        await quota.patch(WORKLOADS, "w", {"spec": {"active": False}})
        evicted = await quota.until_condition("w", "Evicted")
        assert evicted.condition("Evicted").reason == "Deactivated"  # type: ignore[union-attr]
        await quota.set_condition("w", "Requeued", False, "Deactivated")
        await quota.stopped("w")
        await quota.patch(WORKLOADS, "w", {"spec": {"active": True}})
        await quota.until_admitted("w")


@pytest.mark.parametrize("what", ["no queue", "no cluster queue", "inactive"])
async def test_a_workload_that_cannot_queue_says_why(quota: QuotaStage, what: str) -> None:
    await quota.queue(**({"stopPolicy": "Hold"} if what == "inactive" else {}))
    if what == "no cluster queue":
        await quota.client.delete(CLUSTER_QUEUES, quota.queue_name("q"))
    async with quota.engine():
        await quota.ask("w", queue="nowhere" if what == "no queue" else "q")

        async def says_why() -> bool:
            condition = (await quota.workload("w")).condition("QuotaReserved")
            return condition is not None and (condition.status, condition.reason) == ("False", "Inadmissible")

        await quota.until(says_why)
        condition = (await quota.workload("w")).condition("QuotaReserved")
        assert condition
        assert ("doesn't exist" in condition.message) == (what != "inactive")


@pytest.mark.parametrize(("what", "reason"), [("circle", "CohortCycle"), ("negative", "Misconfigured")])
async def test_a_queue_that_is_a_mistake_says_so_and_goes_on_when_it_is_corrected(
    quota: QuotaStage, what: str, reason: str
) -> None:
    async def belongs(cohort: str, parent: str) -> None:
        # One field always: kube-apiserver makes null of a spec whose last field is let go, and rejects it.
        spec = {"fairSharing": {"weight": "1"}, **({"parentName": quota.queue_name(parent)} if parent else {})}
        body = {
            "apiVersion": COHORTS.api_version,
            "kind": COHORTS.kind,
            "metadata": {"name": quota.queue_name(cohort)},
            "spec": spec,
        }
        await quota.client.apply(COHORTS, body, field_manager="tests", force=True)

    async def is_active() -> tuple[str, str]:
        found = await quota.client.get(CLUSTER_QUEUES, quota.queue_name("q"))
        shown = [one for one in found.get("status", {}).get("conditions", []) if one["type"] == "Active"]
        return (shown[0]["status"], shown[0]["reason"]) if shown else ("", "")

    async def says_no() -> bool:
        return await is_active() == ("False", reason) and "Inadmissible" in await quota.events("w")

    if what == "circle":
        await belongs("c", "d")
        await belongs("d", "c")
    await quota.queue(cpu=-1 if what == "negative" else 2, cohort="c")
    async with quota.engine():
        await quota.ask("w")
        await quota.until(says_no)
        assert not (await quota.workload("w")).reserved
        await (belongs("d", "") if what == "circle" else quota.queue(cpu=2, cohort="c"))
        await quota.until_admitted("w")


async def test_an_engine_that_starts_later_takes_everything_over(quota: QuotaStage) -> None:
    await quota.queue(cpu=2)
    async with quota.engine():
        await quota.ask("w0", 2)
        await quota.until_admitted("w0")
    await quota.ask("w1", 1)
    async with quota.engine():
        waiting = await quota.until_condition("w1", "QuotaReserved", False)
        assert not waiting.reserved
        await quota.finish("w0")
        await quota.until_admitted("w1")


async def test_a_queue_whose_check_asks_for_nodes_is_refused_with_a_condition(quota: QuotaStage) -> None:
    check = quota.queue_name("nodes")
    body = {
        "apiVersion": ADMISSION_CHECKS.api_version,
        "kind": ADMISSION_CHECKS.kind,
        "metadata": {"name": check},
        "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
    }
    await quota.client.create(ADMISSION_CHECKS, body)
    await quota.queue(admissionChecksStrategy={"admissionChecks": [{"name": check}]})
    async with quota.engine():
        await quota.ask("w")

        async def is_refused() -> bool:
            found = await quota.client.get(CLUSTER_QUEUES, quota.queue_name("q"))
            active = condition(found, "Active")
            why = f"Can't admit new workloads: provisioning requests of AdmissionCheck(s) {check} are not supported."
            wanted = ("False", "ProvisioningRequestNotSupported", why)
            return tuple(active.get(each) for each in ("status", "reason", "message")) == wanted

        await quota.until(is_refused)
        waiting = (await quota.until_condition("w", "QuotaReserved", False)).condition("QuotaReserved")
        assert waiting
        assert (waiting.reason, waiting.message) == (
            "Inadmissible",
            f"ClusterQueue {quota.queue_name('q')} is inactive",
        )
        await quota.queue()
        await quota.until_admitted("w")
    await quota.client.delete(ADMISSION_CHECKS, check)
