"""Slices beside others in one round."""

from __future__ import annotations

from rayward.kinds.kueue import Workload
from tests.quota.engine.building import Laboratory, cluster_queue, pod_set, workload


def _admitted(name: str, queue: str, count: int) -> Workload:
    return workload(name, queue, [pod_set("p", count, {"cpu": 1})], admitted={"queue": queue, "flavor": "default"})


def test_what_a_replaced_slice_held_is_given_to_its_replacement_alone() -> None:
    lab = Laboratory().queues(
        cluster_queue("a", {"default": {"cpu": 3}}, "both"), cluster_queue("b", {"default": {"cpu": 4}}, "both")
    )
    lab.workloads(_admitted("runs", "a", 1), _admitted("small", "b", 2))
    lab.workloads(workload("large", "b", [pod_set("p", 3, {"cpu": 1})], replaces="small"))
    lab.workloads(workload("other", "a", {"cpu": 4}))
    assert list(lab.run().admitted) == ["large"]
    assert {name: node.usage["default", "cpu"] for name, node in lab.engine.forest.queues.items()} == {
        "a": 1000,
        "b": 3000,
    }
