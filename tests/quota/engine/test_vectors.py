"""An upgrade of a service (a head and two workers of one CPU each) beside itself, counted exactly.

The service holds its base workload and asks for a surge: the vectors that decide the gate, as far as they are the
engine's to decide.
"""

from __future__ import annotations

import pytest

from tests.quota.engine.building import Laboratory, Workload, cluster_queue, pod_set, workload

CPU = "cpu"
BASE = [pod_set("head", 1, {CPU: 1}), pod_set("w", 2, {CPU: 1})]


def _lab(cpu: int) -> Laboratory:
    lab = Laboratory().queues(
        cluster_queue("q", {"default": {CPU: cpu}}, preemption={"withinClusterQueue": "LowerPriority"})
    )
    return lab.workloads(workload("base", "q", BASE, admitted={"queue": "q", "flavor": "default"}))


def _surge(head: str = "1", workers: int = 2, group: str = "w") -> Workload:
    return workload("surge", "q", [pod_set("head", 1, {CPU: head}), pod_set(group, workers, {CPU: 1})], created=1)


@pytest.mark.parametrize(
    ("cpu", "surge", "admits", "never"),
    [
        (6, _surge(), True, False),
        (5, _surge(), False, True),
        (6, _surge(head="2"), False, True),
        (6, _surge(head="500m", workers=1), True, False),
        (6, _surge(group="w2"), True, False),
    ],
    ids=["same shape", "too little", "larger head", "smaller", "renamed group"],
)
def test_a_surge_is_admitted_beside_its_base_or_can_never_be(
    cpu: int, surge: Workload, admits: bool, never: bool
) -> None:
    lab = _lab(cpu).workloads(surge)
    assert (list(lab.run().admitted) == ["surge"]) == admits
    item = lab.engine.item("ns/surge")
    assert item
    held = {("default", CPU): 3000}
    assert bool(lab.engine.exceeds(item, held)) == never


def test_a_second_edit_while_the_first_waits_asks_for_no_more() -> None:
    lab = _lab(6).workloads(workload("job", "q", {CPU: 1}, admitted={"queue": "q", "flavor": "default"}), _surge())
    assert lab.run().admitted == {}
    lab.workloads(_surge(group="other"))
    lab.engine.remove_workload("ns/job")
    assert list(lab.run().admitted) == ["surge"]
    assert lab.engine.forest.queues["q"].usage == {("default", CPU): 6000}


def test_the_active_cluster_grows_while_the_surge_waits() -> None:
    lab = _lab(7).workloads(workload("job", "q", {CPU: 2}, admitted={"queue": "q", "flavor": "default"}), _surge())
    grown = [pod_set("head", 1, {CPU: 1}), pod_set("w", 3, {CPU: 1})]
    lab.workloads(workload("base-2", "q", grown, created=2, replaces="base"))
    assert list(lab.run().admitted) == ["base-2"]


def test_a_higher_priority_takes_the_surge_and_leaves_the_base() -> None:
    lab = _lab(6).workloads(workload("surge", "q", BASE, admitted={"queue": "q", "flavor": "default"}, reserved_at=9))
    lab.workloads(workload("vip", "q", {CPU: 3}, priority=1, created=10))
    assert list(lab.run().evicted) == ["surge"]
