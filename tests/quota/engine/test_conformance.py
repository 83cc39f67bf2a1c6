"""Kueue's own scheduling cases (``tests.quota.record``), decided by our engine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds.kueue import Cohort, LocalQueue, ResourceFlavor, Workload
from rayward.quota.engine import cycle
from rayward.quota.engine.amounts import request_of
from rayward.quota.engine.engine import Engine, Settings
from rayward.quota.engine.fair import FairPreemptor
from rayward.quota.engine.item import Item, item_of
from rayward.quota.engine.preempt import Attempt
from tests.quota.engine.building import stored
from tests.quota.record import recorded

Case = dict[str, Any]
_CASES = recorded()
_ELSEWHERE = {
    "block preemptions and signal `BlockedOnPreemptionGates` when a preemption gate is present": (
        "preemption gates are for MultiKueue, and off by default (MultiKueueOrchestratedPreemption, alpha)"
    ),
    "container does not satisfy limitRange constraints": "pods outside of a LimitRange are rejected by the API server",
    "container resource requests exceed limits": "such a workload is refused before it is queued (kinds.validation)",
    "error during admission": "what follows a failed write is tested with the writer",
    "partial admission disabled, multiple variable pod sets": "partial admission cannot be switched off here",
}
"""Cases that are not about one round, or about what the engine leaves out."""
_NAMESPACES = {
    "default": {},
    "eng-alpha": {"dep": "eng"},
    "eng-beta": {"dep": "eng"},
    "eng-gamma": {"dep": "eng"},
    "sales": {"dep": "sales"},
    "lend": {"dep": "lend"},
}


@pytest.fixture(autouse=True)
def no_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of Kueue's cases have queues and workloads that its webhooks, and so our validation, would refuse."""
    for name in ("inventory.cluster_queue_problems", "engine.workload_problems"):
        monkeypatch.setattr(f"rayward.quota.engine.{name}", lambda found: [])


def _of(*suites: str) -> list[Any]:
    return [
        pytest.param(case, id=case["name"].replace(" ", "-"))
        for case in _CASES
        if case["suite"] in suites and case["name"] not in _ELSEWHERE
    ]


def test_no_case_is_left_out_that_is_not_there() -> None:
    assert {case["name"] for case in _CASES} >= _ELSEWHERE.keys()


def _engine(case: Case, *, fair: bool) -> Engine:
    engine = Engine(Settings(fair_sharing=fair))
    for name, labels in _NAMESPACES.items():
        engine.set_namespace(name, labels)
    for one in case["flavors"]:
        engine.set_flavor(msgspec.convert(one, ResourceFlavor))
    for one in case["cohorts"] or ():
        engine.set_cohort(msgspec.convert(one, Cohort))
    return engine


@pytest.mark.parametrize("case", _of("TestSchedule", "TestScheduleForFairSharing"))
def test_one_round_decides_what_kueue_decides(case: Case) -> None:
    engine = _engine(case, fair=case["fairSharing"])
    for queue in (one for part in case["clusterQueues"] for one in part or ()):
        engine.set_cluster_queue(stored(queue))
        for check in (queue["spec"].get("admissionChecksStrategy") or {}).get("admissionChecks") or ():
            engine.set_check(check["name"], active=True)
    for queue in (one for part in case["localQueues"] for one in part or ()):
        engine.set_local_queue(msgspec.convert(queue, LocalQueue))
    before: dict[str, Workload] = {}
    for one in case["workloads"]:
        workload = msgspec.convert(one, Workload)
        before[f"{workload.metadata.namespace}/{workload.metadata.name}"] = workload
        engine.set_workload(workload, 4e9)
    evicted: set[str] = set()
    admitted: list[cycle.Admit] = []
    for root in dict.fromkeys(node.root for node in engine.forest.queues.values()):
        decisions, _ = cycle.run(root, engine.world)
        evicted |= {one.key for one in decisions if isinstance(one, cycle.Evict)}
        admitted += [one for one in decisions if isinstance(one, cycle.Admit)]
    got = {key: _given(item) for items in engine.holders.values() for key, item in items.items()}
    # Kueue counts a slice and the one it replaces until the latter is finished; ours hands its quota over
    replaced = {decision.replaces for decision in admitted}
    want = {key: _assigned(value) for key, value in (case["wantAssignments"] or {}).items() if key not in replaced}
    assert got == want
    assert evicted == {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        for one in case["wantWorkloads"] or ()
        if _is_preempted(one) and not before[f"{one['metadata']['namespace']}/{one['metadata']['name']}"].evicted
    }
    left = {
        key for part in ("wantLeft", "wantInadmissibleLeft") for keys in (case[part] or {}).values() for key in keys
    }
    assert {item.key for queue in engine.pending.values() for item in queue} == left


def _given(item: Item) -> Any:
    return item.cluster_queue, [(one.name, one.count, dict(one.flavors), one.requests) for one in item.grants]


def _assigned(admission: Any) -> Any:
    return admission["clusterQueue"], [
        (
            one["name"],
            one["count"],
            one.get("flavors") or {},
            {name: request_of(name, value) for name, value in (one.get("resourceUsage") or {}).items()},
        )
        for one in admission["podSetAssignments"]
    ]


def _is_preempted(workload: Any) -> bool:
    return any(
        one["type"] == "Preempted" and one["status"] == "True" for one in workload["status"].get("conditions") or ()
    )


@pytest.mark.parametrize("case", _of("TestPreemption", "TestHierarchicalPreemptions"))
def test_the_same_workloads_are_evicted(case: Case) -> None:
    engine = _prepared(case, fair=False)
    frs = {
        (choice["Name"], resource)
        for pod_set in case["assignment"]
        for resource, choice in (pod_set["Flavors"] or {}).items()
        if choice["Mode"] == 1
    }
    usage: dict[Any, int] = {}
    incoming = _incoming(case)
    for demand, pod_set in zip(incoming.demands, case["assignment"], strict=True):
        for resource, amount in demand.total(pod_set["Count"]).items():
            if amount and resource in (pod_set["Flavors"] or {}):
                fr = (pod_set["Flavors"][resource]["Name"], resource)
                usage[fr] = usage.get(fr, 0) + amount
    targets = _targets(engine, case, incoming, frs, usage)
    want: dict[str, str] = {}
    for one in case["wantWorkloads"]:
        for condition in one["status"].get("conditions") or ():
            if condition["type"] == "Preempted" and condition["status"] == "True":
                want[f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"] = condition["reason"]
    ongoing = {key for key in targets if _was_evicted(case, key)}
    assert {key: reason for key, reason in targets.items() if key not in ongoing} == {
        key: reason for key, reason in want.items() if key not in ongoing
    }


@pytest.mark.parametrize("case", _of("TestFairPreemptions"))
def test_the_same_workloads_are_evicted_with_fair_sharing(case: Case) -> None:
    for one in case["admitted"] or ():
        one["metadata"]["uid"] = one["metadata"]["name"]
    engine = _prepared(case, fair=True)
    preemptor = engine.world.preemptor
    assert isinstance(preemptor, FairPreemptor)
    if case["strategies"]:
        preemptor.strategies = case["strategies"]
    flavor = case["flavor"] or "default"
    incoming = _incoming(case)
    usage = {(flavor, "cpu"): sum(demand.total().get("cpu", 0) for demand in incoming.demands)}
    targets = _targets(engine, case, incoming, {(flavor, "cpu")}, usage)
    assert {f"{key}:{reason}" for key, reason in targets.items()} == set(case["wantPreempted"] or ())


def _prepared(case: Case, *, fair: bool) -> Engine:
    engine = _engine(case, fair=fair)
    for queue in case["clusterQueues"] or ():
        engine.set_cluster_queue(stored(queue))
    for one in case["admitted"] or ():
        engine.set_workload(msgspec.convert(one, Workload), 4e9)
    return engine


def _incoming(case: Case) -> Item:
    item = item_of(msgspec.convert(case["incoming"], Workload))
    item.cluster_queue = case["queue"]
    return item


def _targets(engine: Engine, case: Case, incoming: Item, frs: set[Any], usage: Any) -> dict[str, str]:
    node, rules = engine.forest.queues[case["queue"]], engine.inventory.rules[case["queue"]]
    found = engine.world.preemptor.targets(Attempt(incoming, node, rules, frozenset(frs), usage))
    return {one.item.key: one.reason for one in found}


def _was_evicted(case: Case, key: str) -> bool:
    for one in case["admitted"]:
        if f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" == key:
            return msgspec.convert(one, Workload).evicted
    return False
