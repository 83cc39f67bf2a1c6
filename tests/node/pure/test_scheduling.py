"""Which node takes a pod, and kube-scheduler's words when none does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import quantity
from rayward.kube.machinery.podrequests import amounts, pod_requests
from rayward.local.node.scheduling.decide import Placed, Refused, place
from rayward.local.node.scheduling.model import Candidate, Occupant

Object = dict[str, Any]


def _pod(cpu: str = "1", name: str = "p", priority: int = 0, **spec: Any) -> Object:
    resources = spec.pop("resources", {"requests": {"cpu": cpu}})
    containers = [{"name": "c", "resources": resources, "ports": spec.pop("ports", [])}]
    labels = spec.pop("labels", {})
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": labels},
        "spec": {"containers": containers, "priority": priority, **spec},
    }


def _node(name: str, cpu: str = "4", *pods: Object, labels: Object | None = None, **more: Any) -> Candidate:
    return Candidate(
        name,
        {"kubernetes.io/hostname": name, **(labels or {})},
        tuple(more.get("taints", ())),
        more.get("unschedulable", False),
        amounts({"cpu": cpu, "memory": "8Gi", "pods": more.get("pods", "110")}),
        tuple(Occupant.of(pod) for pod in pods),
        more.get("ready", True),
    )


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
PORT = [{"containerPort": 80, "hostPort": 80}]
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
TOGETHER = {"podAffinity": APART["podAntiAffinity"]}


@pytest.mark.parametrize(
    ("pod", "nodes", "chosen"),
    [
        (_pod(), [_node("a"), _node("b", "8")], "b"),
        (_pod("3"), [_node("a", "4", _pod("2")), _node("b")], "b"),
        (_pod(tolerations=[{"operator": "Exists"}]), [_node("a", "8", ready=False), _node("b")], "b"),
        (_pod(nodeSelector={"z": "1"}), [_node("a"), _node("b", labels={"z": "1"})], "b"),
        (_pod(tolerations=[{"operator": "Exists"}]), [_node("a", taints=[TAINT])], "a"),
        (_pod(tolerations=[{"key": "k", "value": "v", "effect": "NoSchedule"}]), [_node("a", taints=[TAINT])], "a"),
        (_pod(), [_node("a", taints=[{**TAINT, "effect": "PreferNoSchedule"}]), _node("b")], "b"),
        (_pod(ports=PORT), [_node("a", "8", _pod(ports=PORT)), _node("b")], "b"),
        (_pod(labels={"app": "x"}, affinity=APART), [_node("a", "8", _pod(labels={"app": "x"})), _node("b")], "b"),
        (_pod(affinity=TOGETHER), [_node("a", "8"), _node("b", "4", _pod(labels={"app": "x"}))], "b"),
        (_pod(labels={"app": "x"}, affinity=TOGETHER), [_node("a")], "a"),
    ],
)
def test_the_node_that_is_chosen(pod: Object, nodes: list[Candidate], chosen: str) -> None:
    assert place(pod, nodes) == Placed(chosen)


@pytest.mark.parametrize(
    ("pod", "nodes", "message"),
    [
        (_pod(), [], "no nodes available to schedule pods"),
        (
            _pod("9"),
            [_node("a"), _node("b")],
            (
                "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
                "2 No preemption victims found for incoming pod."
            ),
        ),
        (
            _pod("9"),
            [_node("a"), _node("b", taints=[TAINT]), _node("c", unschedulable=True)],
            (
                "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
                "1 node(s) were unschedulable. preemption: 0/3 nodes are available: "
                "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
            ),
        ),
        (
            _pod(priority=5),
            [_node("a", "1", _pod(), ready=False)],
            (
                "0/1 nodes are available: 1 node(s) were not ready. "
                "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
            ),
        ),
        (
            _pod(nodeSelector={"z": "1"}),
            [_node("a")],
            (
                "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
                "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
            ),
        ),
        (
            _pod(ports=PORT),
            [_node("a", "8", _pod(ports=PORT))],
            (
                "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. "
                "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
            ),
        ),
        (
            _pod(),
            [_node("a", "4", _pod("0"), pods="1")],
            (
                "0/1 nodes are available: 1 Too many pods. preemption: 0/1 nodes are available: "
                "1 No preemption victims found for incoming pod."
            ),
        ),
    ],
)
def test_the_words_of_a_refusal(pod: Object, nodes: list[Candidate], message: str) -> None:
    refused = place(pod, nodes)
    assert isinstance(refused, Refused)
    assert (refused.message, refused.node, refused.victims) == (message, "", ())


@pytest.mark.parametrize(
    ("pod", "nodes", "shortage"),
    [
        (
            _pod("9"),
            [_node("a", "4", _pod("3500m")), _node("b", "8", _pod("6"))],
            "The pod requests 9 cpu; the most that a node has free is 2 of 8 (rayward up --cpus gives a node more).",
        ),
        (
            _pod(resources={"requests": {"example.com/chip": "1"}}),
            [_node("a")],
            "The pod requests 1 example.com/chip; the most that a node has free is 0 of 0.",
        ),
        (_pod("3"), [_node("a", "4", _pod("2")), _node("b", taints=[TAINT])], ""),
        (_pod(), [_node("a", "4", _pod("0"), pods="1")], ""),
        (_pod(nodeSelector={"z": "1"}), [_node("a")], ""),
    ],
    ids=["largest", "unknown", "room where it may not go", "pods", "selector"],
)
def test_what_is_free_is_told_of_a_resource_that_no_node_has_enough_of(
    pod: Object, nodes: list[Candidate], shortage: str
) -> None:
    refused = place(pod, nodes)
    assert isinstance(refused, Refused)
    assert refused.shortage == shortage


def test_existing_pods_may_refuse_company() -> None:
    hermit = _pod(affinity=APART)
    answer = place(_pod(labels={"app": "x"}), [_node("a", "8", hermit)])
    assert isinstance(answer, Refused)
    assert "node(s) didn't satisfy existing pods anti-affinity rules" in answer.message


def test_the_fewest_and_least_important_pods_make_room() -> None:
    nodes = [
        _node("a", "4", _pod("2", "a1", 5), _pod("2", "a2", 1)),
        _node("b", "4", _pod("1", "b1", 1), _pod("1", "b2", 1), _pod("2", "b3", 9)),
        _node("c", "4", _pod("4", "c1", 50)),
    ]
    answer = place(_pod("2", priority=10), nodes)
    assert isinstance(answer, Refused)
    assert (answer.node, [victim.name for victim in answer.victims]) == ("a", ["a2"])


def test_equals_are_not_preempted() -> None:
    answer = place(_pod("4", priority=5), [_node("a", "4", _pod("4", "x", 5))])
    assert isinstance(answer, Refused)
    assert answer.victims == ()


def test_a_pod_that_never_preempts() -> None:
    answer = place(_pod("4", priority=5, preemptionPolicy="Never"), [_node("a", "4", _pod("4", "x", 1))])
    assert isinstance(answer, Refused)
    assert answer.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "2"}}}]}, "3"),
        (
            {
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
            },
            "3",
        ),
        (
            {
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
                    {"resources": {"requests": {"cpu": "3"}}},
                ],
            },
            "3500m",
        ),
        ({"containers": [{}], "overhead": {"cpu": "100m"}}, "100m"),
    ],
)
def test_what_a_pod_asks_for(spec: Object, cpu: str) -> None:
    assert pod_requests(spec)["cpu"] == quantity.parse(cpu)


@given(st.lists(st.integers(0, 6), max_size=12), st.lists(st.integers(1, 8), min_size=1, max_size=4))
def test_no_node_is_ever_overfull(asks: list[int], sizes: list[int]) -> None:
    nodes = {f"n{number}": _node(f"n{number}", str(size)) for number, size in enumerate(sizes)}
    for number, ask in enumerate(asks):
        pod = _pod(str(ask), f"p{number}")
        answer = place(pod, list(nodes.values()))
        if isinstance(answer, Placed):
            before = nodes[answer.node]
            nodes[answer.node] = Candidate(
                before.name, before.labels, (), False, before.allocatable, (*before.occupants, Occupant.of(pod))
            )
        else:
            assert all(
                node.used().get("cpu", quantity.parse(0)) + quantity.parse(ask) > node.allocatable["cpu"]
                for node in nodes.values()
            )
    for node in nodes.values():
        assert node.used().get("cpu", quantity.parse(0)) <= node.allocatable["cpu"]
