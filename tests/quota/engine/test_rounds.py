"""Who is admitted, who waits and who goes: the cases of the algorithm, each alone."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.quota.engine.cycle import Admit
from tests.quota.engine.building import (
    Laboratory,
    cluster_queue,
    cohort,
    flavor,
    local_queue,
    pod_set,
    workload,
)

CPU = "cpu"
STRICT: dict[str, Any] = {"queueingStrategy": "StrictFIFO"}
LOWER: dict[str, Any] = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM: dict[str, Any] = {"preemption": {"reclaimWithinCohort": "Any"}}


def _queue(name: str = "a", quota: Any = 6, group: str = "", **spec: Any) -> Any:
    return cluster_queue(name, {"default": {CPU: quota}}, group, **spec)


def _holding(name: str, cpu: int, queue: str = "a", **more: Any) -> Any:
    return workload(name, queue, {CPU: cpu}, admitted={"queue": queue, "flavor": "default"}, **more)


def _asking(name: str, cpu: int, queue: str = "a", **more: Any) -> Any:
    return workload(name, queue, {CPU: cpu}, **more)


def test_as_many_are_admitted_at_once_as_fit() -> None:
    lab = Laboratory().queues(_queue()).workloads(*[_asking(f"w{n}", 2, created=n) for n in range(5)])
    assert list(lab.run().admitted) == ["w0", "w1", "w2"]
    assert lab.engine.run(0) == []


def test_the_important_go_first_then_the_old() -> None:
    lab = Laboratory().queues(_queue(quota=2))
    lab.workloads(_asking("old", 1, created=1), _asking("new", 1, created=2), _asking("vip", 1, created=3, priority=5))
    assert list(lab.run().admitted) == ["vip", "old"]


@pytest.mark.parametrize(("spec", "admitted"), [({}, ["small"]), (STRICT, [])])
def test_the_first_that_does_not_fit_blocks_only_a_strict_queue(spec: dict[str, Any], admitted: list[str]) -> None:
    lab = Laboratory().queues(_queue(**spec)).workloads(_holding("held", 3))
    lab.workloads(_asking("big", 5, created=1), _asking("small", 1, created=2))
    assert list(lab.run().admitted) == admitted


def test_whoever_blocked_a_strict_queue_blocks_it_no_longer_when_deleted() -> None:
    lab = Laboratory().queues(_queue(**STRICT)).workloads(_asking("big", 9, created=1), _asking("small", 1, created=2))
    assert lab.run().admitted == {}
    lab.engine.remove_workload("ns/big")
    assert list(lab.run().admitted) == ["small"]


def test_a_freed_quota_goes_to_whoever_waits() -> None:
    lab = Laboratory().queues(_queue()).workloads(_holding("held", 5), _asking("big", 5))
    assert lab.run().admitted == {}
    lab.engine.remove_workload("ns/held")
    assert list(lab.run().admitted) == ["big"]


def test_a_raised_quota_lets_the_waiting_in() -> None:
    lab = Laboratory().queues(_queue(quota=1)).workloads(_asking("big", 5))
    assert "maximum capacity (1)" in lab.run().messages["big"]
    lab.queues(_queue(quota=5))
    assert list(lab.run().admitted) == ["big"]


def test_a_lowered_quota_blocks_newcomers_and_leaves_the_running() -> None:
    lab = Laboratory().queues(_queue(quota=4)).workloads(_holding("held", 4), _asking("next", 1))
    lab.queues(_queue(quota=2))
    assert lab.run().admitted == {}
    assert lab.engine.forest.queues["a"].available(("default", CPU)) == -2000


def test_a_queue_borrows_what_others_do_not_use_up_to_its_limit() -> None:
    lab = Laboratory().queues(_queue("a", (2, 1, None), "c"), _queue("b", 5, "c"))
    lab.workloads(_asking("w4", 4), _asking("w3", 3))
    assert list(lab.run().admitted) == ["w3"]


def test_those_who_need_not_borrow_go_before_those_who_do() -> None:
    lab = Laboratory().queues(_queue("a", 1, "c"), _queue("b", 3, "c"))
    lab.workloads(_asking("borrower", 3, "a", priority=9, created=0), _asking("owner", 3, "b", created=1))
    assert list(lab.run().admitted) == ["owner"]


def test_a_workload_whose_namespace_is_not_selected_waits_and_blocks_nobody() -> None:
    lab = Laboratory().queues(_queue(namespaceSelector={"matchLabels": {"team": "x"}}, **STRICT))
    lab.workloads(_asking("w", 1))
    assert "namespace" in lab.run().messages["w"]
    lab.engine.set_namespace("ns", {"team": "x"})
    assert list(lab.run().admitted) == ["w"]


def test_a_resource_that_the_queue_does_not_have_never_fits_unless_none_is_asked() -> None:
    lab = Laboratory().queues(_queue())
    lab.workloads(workload("gpu", "a", {CPU: 1, "gpu": 1}), workload("none", "a", {CPU: 1, "gpu": 0}))
    outcome = lab.run()
    assert list(outcome.admitted) == ["none"]
    assert "resource gpu unavailable in ClusterQueue" in outcome.messages["gpu"]


def test_pods_are_counted_where_the_queue_counts_them() -> None:
    lab = Laboratory().queues(cluster_queue("a", {"default": {CPU: 9, "pods": 3}}))
    lab.workloads(workload("w", "a", [pod_set("p", 4, {CPU: 1})]), workload("v", "a", [pod_set("p", 3, {CPU: 1})]))
    assert list(lab.run().admitted) == ["v"]


# flavors

TWO = {"x": {CPU: 2}, "y": {CPU: 9}}


def test_the_second_flavor_is_taken_when_the_first_is_full() -> None:
    lab = Laboratory("x", "y").queues(cluster_queue("a", TWO)).workloads(workload("w", "a", {CPU: 3}))
    assert lab.run().admitted == {"w": {"main": "y"}}


def test_each_pod_set_takes_its_own_flavor() -> None:
    lab = Laboratory("x", "y").queues(cluster_queue("a", TWO))
    lab.workloads(workload("w", "a", [pod_set("head", 1, {CPU: 1}), pod_set("workers", 4, {CPU: 1})]))
    assert lab.run().admitted == {"w": {"head": "x", "workers": "y"}}


def test_a_flavor_that_pods_cannot_use_is_passed_over() -> None:
    lab = Laboratory("y").queues(cluster_queue("a", TWO))
    lab.engine.set_flavor(flavor("x", nodeTaints=[{"key": "t", "effect": "NoSchedule"}]))
    tolerant = pod_set("p", 1, {CPU: 1}, tolerations=[{"key": "t", "operator": "Exists"}])
    lab.workloads(workload("w", "a", {CPU: 1}), workload("v", "a", [tolerant]))
    assert lab.run().admitted == {"w": {"main": "y"}, "v": {"p": "x"}}


def test_pod_sets_that_push_each_other_from_flavor_to_flavor_end() -> None:
    lab = Laboratory("x", "y").queues(cluster_queue("a", {"x": {CPU: 1}, "y": {CPU: 1}}))
    pods = [pod_set("p", 1, {CPU: 1}), pod_set("q", 1, {CPU: 1}), pod_set("r", 1, {CPU: 1})]
    lab.workloads(workload("w", "a", pods), workload("v", "a", {CPU: 1}, created=1))
    assert list(lab.run().admitted) == ["v"]


@pytest.mark.parametrize(("rule", "taken"), [("MayStopSearch", "x"), ("TryNextFlavor", "y")])
def test_borrowing_in_the_first_flavor_or_own_quota_in_the_second(rule: str, taken: str) -> None:
    lab = Laboratory("x", "y").queues(
        cluster_queue("a", TWO, "c", flavorFungibility={"whenCanBorrow": rule}),
        cluster_queue("b", {"x": {CPU: 5}, "y": {CPU: 0}}, "c"),
    )
    lab.workloads(workload("w", "a", {CPU: 3}))
    assert lab.run().admitted == {"w": {"main": taken}}


@pytest.mark.parametrize(("rule", "evicts"), [("MayStopSearch", True), ("TryNextFlavor", False)])
def test_preempting_in_the_first_flavor_or_room_in_the_second(rule: str, evicts: bool) -> None:
    lab = Laboratory("x", "y").queues(cluster_queue("a", TWO, flavorFungibility={"whenCanPreempt": rule}, **LOWER))
    lab.workloads(workload("low", "a", {CPU: 2}, admitted={"queue": "a", "flavor": "x"}))
    lab.workloads(workload("w", "a", {CPU: 2}, priority=1))
    outcome = lab.run()
    assert bool(outcome.evicted) == evicts
    assert (outcome.admitted == {"w": {"main": "y"}}) == (not evicts)


# preemption


def test_lower_priorities_go_newest_first_and_only_as_many_as_needed() -> None:
    lab = Laboratory().queues(_queue(quota=4, **LOWER))
    lab.workloads(*[_holding(f"h{n}", 1, reserved_at=n) for n in range(4)])
    lab.workloads(_asking("vip", 2, priority=5))
    assert lab.run().evicted == {"h3": "InClusterQueue", "h2": "InClusterQueue"}


def test_an_evicted_workload_holds_its_quota_until_it_is_gone() -> None:
    lab = Laboratory().queues(_queue(quota=4, **LOWER)).workloads(_holding("low", 4), _asking("vip", 4, priority=5))
    assert list(lab.run().evicted) == ["low"]
    assert lab.run().decisions == []
    lab.workloads(_asking("low", 4))
    assert list(lab.run().admitted) == ["vip"]


def test_nobody_slips_in_where_somebody_was_evicted_for_another() -> None:
    lab = Laboratory().queues(_queue(quota=4, **LOWER)).workloads(_holding("low", 4), _asking("vip", 4, priority=5))
    lab.run()
    lab.workloads(_asking("small", 1, priority=4))
    lab.workloads(_asking("low", 4))
    assert list(lab.run().admitted) == ["vip"]


def test_equals_are_evicted_only_when_newer_and_allowed() -> None:
    rule: dict[str, Any] = {"preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"}}
    lab = Laboratory().queues(_queue(quota=2, **rule))
    lab.workloads(_holding("newer", 1, created=20), _holding("older", 1, created=5), _asking("w", 1, created=10))
    assert lab.run().evicted == {"newer": "InClusterQueue"}


def test_a_queue_takes_its_own_back_from_who_borrowed_it() -> None:
    lab = Laboratory().queues(_queue("a", 3, "c", **RECLAIM), _queue("b", 3, "c"))
    lab.workloads(*[_holding(f"b{n}", 2, "b", priority=9) for n in range(3)], _asking("mine", 2))
    outcome = lab.run()
    assert list(outcome.evicted.values()) == ["InCohortReclamation"]


def test_whoever_stays_within_its_quota_is_not_evicted_by_others() -> None:
    lab = Laboratory().queues(_queue("a", 3, "c", **RECLAIM), _queue("b", 3, "c"))
    lab.workloads(_holding("b0", 3, "b"), _holding("a0", 3, "a"), _asking("more", 1))
    assert lab.run().evicted == {}


def test_a_preemptor_may_borrow_only_from_those_below_the_threshold() -> None:
    rule: dict[str, Any] = {
        "preemption": {
            "reclaimWithinCohort": "LowerPriority",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 0},
        }
    }
    lab = Laboratory().queues(_queue("a", 1, "c", **rule), _queue("b", 1, "c"), _queue("c", 4, "c"))
    lab.workloads(_holding("low", 3, "b", priority=0), _holding("mid", 3, "b", priority=1))
    lab.workloads(_asking("vip", 3, "a", priority=9))
    assert lab.run().evicted == {"low": "InCohortReclaimWhileBorrowing"}


# slices, partial admission, holding back


def test_a_slice_needs_room_only_for_what_it_adds_and_keeps_its_flavor() -> None:
    lab = Laboratory("x", "y").queues(cluster_queue("a", {"x": {CPU: 5}, "y": {CPU: 9}}))
    lab.workloads(workload("w0", "a", [pod_set("p", 3, {CPU: 1})], admitted={"queue": "a", "flavor": "x"}))
    lab.workloads(workload("w1", "a", [pod_set("p", 5, {CPU: 1})], replaces="w0"))
    outcome = lab.run()
    assert outcome.admitted == {"w1": {"p": "x"}}
    assert [one.replaces for one in outcome.decisions if isinstance(one, Admit)] == ["ns/w0"]
    assert lab.engine.forest.queues["a"].usage == {("x", CPU): 5000}


def test_a_slice_that_does_not_fit_leaves_the_one_it_replaces() -> None:
    lab = Laboratory("x", "y").queues(cluster_queue("a", {"x": {CPU: 5}, "y": {CPU: 9}}))
    lab.workloads(workload("w0", "a", [pod_set("p", 3, {CPU: 1})], admitted={"queue": "a", "flavor": "x"}))
    lab.workloads(workload("w1", "a", [pod_set("p", 6, {CPU: 1})], replaces="w0"))
    assert lab.run().admitted == {}
    assert lab.engine.forest.queues["a"].usage == {("x", CPU): 3000}


def test_a_slice_with_other_pod_sets_stops_nobody() -> None:
    lab = Laboratory().queues(_queue()).workloads(_holding("w0", 1))
    two = [pod_set("main", 1, {CPU: 1}), pod_set("more", 1, {CPU: 1})]
    lab.workloads(workload("w1", "a", two, replaces="w0"), _asking("other", 1))
    outcome = lab.run()
    assert list(outcome.admitted) == ["other"]
    assert "slice" in outcome.messages["w1"]


def test_never_fit_is_told_by_totals() -> None:
    lab = Laboratory().queues(_queue(quota=5)).workloads(_holding("base", 3), _asking("surge", 3))
    lab.run()
    item = lab.engine.item("ns/surge")
    assert item
    assert lab.engine.exceeds(item) == ""
    assert "1 more needed" in lab.engine.exceeds(item, {("default", CPU): 3000})


@pytest.mark.parametrize(("cpu", "evicted"), [(3, ["surge"]), (6, ["surge", "base"])])
def test_who_is_urgent_takes_a_surge_before_the_release_that_serves(cpu: int, evicted: list[str]) -> None:
    lab = Laboratory().queues(_queue(quota=6, **LOWER))
    lab.workloads(_holding("base", 3, reserved_at=1), _holding("surge", 3, reserved_at=2))
    lab.workloads(_asking("urgent", cpu, priority=5))
    assert list(lab.run().evicted) == evicted


def test_pod_sets_that_go_to_different_flavors_fit_if_rounds_would_place_them() -> None:
    """The first round puts ``p`` where only ``q`` has room; the next one goes on from there."""
    for pods in (((2, 2), {"p": "a", "q": "b"}), ((2, 3), {"p": "b", "q": "a"})):
        (p, q), placed = pods
        sizes = {"a": {CPU: 3}, "b": {CPU: 2}}
        lab = Laboratory("a", "b").queues(cluster_queue("a", sizes))
        lab.workloads(workload("w", "a", [pod_set("p", p, {CPU: 1}), pod_set("q", q, {CPU: 1})]))
        item = lab.engine.item("ns/w")
        assert item
        assert (lab.engine.exceeds(item), lab.engine.lacks(item)) == ("", "")
        assert lab.run().admitted == {"w": placed}


def test_what_is_asked_of_the_engine_changes_nothing() -> None:
    lab = Laboratory("a", "b").queues(cluster_queue("q", {"a": {CPU: 3}, "b": {CPU: 3}}, "c"), cohort("c"))
    lab.workloads(workload("w", "q", {CPU: 2}, admitted={"queue": "q", "flavor": "a"}), _asking("v", 9, "q"))
    node, item = lab.engine.forest.queues["q"], lab.engine.item("ns/v")
    assert item
    before = (dict(node.usage), dict(node.root.usage), item.tried)
    assert lab.engine.exceeds(item, {("a", CPU): 1000})
    assert lab.engine.lacks(item)
    assert (node.usage, node.root.usage, item.tried) == before


def test_fewer_pods_are_admitted_when_fewer_will_do() -> None:
    lab = Laboratory().queues(_queue(quota=6))
    lab.workloads(workload("w", "a", [pod_set("head", 1, {CPU: 1}), pod_set("p", 9, {CPU: 1}, minimum=2)]))
    assert lab.run().counts == {"w": [1, 5]}


def test_nothing_is_admitted_with_fewer_than_the_least() -> None:
    lab = Laboratory().queues(_queue(quota=6)).workloads(workload("w", "a", [pod_set("p", 9, {CPU: 1}, minimum=7)]))
    assert lab.run().admitted == {}


def test_a_reclaimed_pod_needs_no_quota() -> None:
    pods = [pod_set("p", 3, {CPU: 1})]
    status = {"reclaimablePods": [{"name": "p", "count": 2}]}
    lab = (
        Laboratory()
        .queues(_queue(quota=3))
        .workloads(
            workload("w", "a", pods, admitted={"queue": "a", "flavor": "default"}, status=status), _asking("v", 2)
        )
    )
    assert list(lab.run().admitted) == ["v"]


def test_a_workload_in_backoff_waits_until_its_time() -> None:
    status = {"requeueState": {"count": 1, "requeueAt": "1970-01-01T00:01:40Z"}}
    lab = Laboratory().queues(_queue()).workloads(_asking("w", 1, status=status))
    assert lab.run(99).admitted == {}
    assert lab.engine.next_wake() == 100
    assert list(lab.run(100).admitted) == ["w"]


def test_a_workload_that_may_not_queue_is_not_tried() -> None:
    status = {"conditions": [{"type": "Requeued", "status": "False"}]}
    lab = Laboratory().queues(_queue()).workloads(_asking("w", 1, status=status))
    assert lab.run().decisions == []
    lab.workloads(_asking("w", 1, status={"conditions": [{"type": "Requeued", "status": "True"}]}))
    assert list(lab.run().admitted) == ["w"]


def test_admission_waits_for_the_pods_of_the_admitted() -> None:
    lab = Laboratory(block=True).queues(_queue()).workloads(_asking("w0", 1, created=0), _asking("w1", 1, created=1))
    assert list(lab.run().admitted) == ["w0"]
    ready = {"conditions": [{"type": "PodsReady", "status": "True"}]}
    lab.workloads(_holding("w0", 1, status=ready))
    assert list(lab.run().admitted) == ["w1"]


# fair sharing


def test_with_fair_sharing_who_borrows_less_goes_first() -> None:
    lab = Laboratory(fair=True).queues(_queue("a", 0, "c"), _queue("b", 0, "c"), _queue("c", 9, "c"))
    lab.workloads(_holding("a0", 3, "a"), _holding("b0", 1, "b"))
    lab.workloads(_asking("more-a", 5, "a", priority=9), _asking("more-b", 5, "b"))
    assert list(lab.run().admitted) == ["more-b"]


def test_with_fair_sharing_weights_count() -> None:
    lab = Laboratory(fair=True).queues(
        _queue("a", 0, "c", fairSharing={"weight": "4"}), _queue("b", 0, "c"), _queue("c", 9, "c")
    )
    lab.workloads(_holding("a0", 3, "a"), _holding("b0", 1, "b"))
    lab.workloads(_asking("more-a", 5, "a", created=1), _asking("more-b", 5, "b", created=0))
    assert list(lab.run().admitted) == ["more-a"]


def test_with_fair_sharing_the_largest_borrower_gives_back() -> None:
    rule: dict[str, Any] = {"preemption": {"reclaimWithinCohort": "Any"}}
    lab = Laboratory(fair=True).queues(_queue("a", 0, "c", **rule), _queue("b", 0, "c"), _queue("c", 6, "c"))
    lab.workloads(*[_holding(f"b{n}", 2, "b", reserved_at=n) for n in range(3)], _asking("mine", 2, "a"))
    assert lab.run().evicted == {"b2": "InCohortFairSharing"}


# bad input


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        (_queue(quota="-1"), "Misconfigured"),
        (cluster_queue("a", {"nowhere": {CPU: 1}}), "FlavorNotFound"),
        (_queue(stopPolicy="Hold"), "Stopped"),
        (
            _queue(admissionChecksStrategy={"admissionChecks": [{"name": "check"}]}),
            "AdmissionCheckNotFound",
        ),
    ],
)
def test_a_queue_that_cannot_be_used_admits_nothing_and_says_why(queue: Any, reason: str) -> None:
    lab = Laboratory().queues(queue).workloads(_asking("w", 1))
    assert lab.engine.inventory.state("a").reason == reason
    assert lab.run().admitted == {}
    lab.queues(_queue())
    assert lab.engine.inventory.state("a").active
    assert list(lab.run().admitted) == ["w"]


def test_a_circle_of_cohorts_admits_nothing_until_it_is_broken() -> None:
    lab = Laboratory().queues(cohort("c", "d"), cohort("d", "c"), _queue("a", 6, "c")).workloads(_asking("w", 1))
    assert lab.engine.inventory.state("a").reason == "CohortCycle"
    assert lab.run().admitted == {}
    lab.queues(cohort("d"))
    assert list(lab.run().admitted) == ["w"]


def test_a_queue_deleted_while_it_holds_workloads_takes_them_back_when_it_returns() -> None:
    lab = Laboratory().queues(_queue(quota=3)).workloads(_holding("held", 2), _asking("w", 2))
    lab.engine.remove_cluster_queue("a")
    assert lab.run().admitted == {}
    lab.queues(_queue(quota=3))
    assert lab.run().admitted == {}
    assert lab.engine.forest.queues["a"].usage == {("default", CPU): 2000}
    lab.engine.remove_workload("ns/held")
    assert list(lab.run().admitted) == ["w"]


def test_nineteen_pod_sets_are_refused_and_nobody_else_is() -> None:
    lab = (
        Laboratory()
        .queues(_queue())
        .workloads(workload("w", "a", [pod_set(f"p{n}", 1, {CPU: 1}) for n in range(19)]), _asking("v", 1))
    )
    assert list(lab.run().admitted) == ["v"]
    assert "19 pod sets" in lab.engine.refused["ns/w"]


def test_a_request_that_is_no_quantity_is_refused() -> None:
    lab = Laboratory().queues(_queue()).workloads(workload("w", "a", {CPU: "much"}))
    assert lab.run().decisions == []
    assert "much" in lab.engine.refused["ns/w"]


def test_topologies_are_refused_with_a_reason() -> None:
    lab = (
        Laboratory()
        .queues(_queue())
        .workloads(workload("w", "a", [pod_set("p", 1, {CPU: 1}) | {"topologyRequest": {"required": "rack"}}]))
    )
    assert "not supported" in lab.run().messages["w"]


def test_a_workload_of_an_unknown_queue_waits_until_the_queue_is_there() -> None:
    lab = Laboratory().queues(_queue()).workloads(_asking("w", 1, "later"))
    assert lab.run().decisions == []
    lab.engine.set_local_queue(local_queue("later", "a"))
    assert list(lab.run().admitted) == ["w"]


def test_a_held_local_queue_lets_nobody_in() -> None:
    lab = Laboratory().queues(_queue())
    lab.engine.set_local_queue(local_queue("a", "a", stopPolicy="Hold"))
    lab.workloads(_asking("w", 1))
    assert lab.run().admitted == {}
    lab.engine.set_local_queue(local_queue("a", "a"))
    assert list(lab.run().admitted) == ["w"]
