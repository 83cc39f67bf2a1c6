from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.quota.engine.tree import Forest, Node, Quota

FR = ("default", "cpu")


def _forest(*nodes: tuple[str, str, Quota]) -> Forest:
    """Nodes by name, parent and quota; queues are those with a lower-case name."""
    forest = Forest()
    for name, parent, quota in nodes:
        place = forest.set_queue if name.islower() else forest.set_cohort
        place(name, parent, {FR: quota}, 1.0)
    return forest


@pytest.mark.parametrize(
    ("nodes", "used", "available", "potential"),
    [
        ([("a", "", Quota(5))], {}, 5, 5),
        ([("a", "", Quota(5))], {"a": 3}, 2, 5),
        ([("a", "", Quota(5))], {"a": 7}, -2, 5),
        ([("a", "C", Quota(5)), ("b", "C", Quota(3))], {}, 8, 8),
        ([("a", "C", Quota(5)), ("b", "C", Quota(3))], {"b": 4}, 4, 8),
        ([("a", "C", Quota(5, borrowing=1)), ("b", "C", Quota(3))], {}, 6, 6),
        ([("a", "C", Quota(5, borrowing=1)), ("b", "C", Quota(3))], {"a": 4}, 2, 6),
        ([("a", "C", Quota(5)), ("b", "C", Quota(3, lending=1))], {}, 6, 6),
        ([("a", "C", Quota(5)), ("b", "C", Quota(3, lending=1))], {"b": 2}, 6, 6),
        ([("a", "C", Quota(5)), ("b", "C", Quota(3, lending=1))], {"b": 3}, 5, 6),
        ([("a", "C", Quota(5, lending=0)), ("b", "C", Quota(3))], {"b": 3}, 5, 8),
        ([("a", "C", Quota(1)), ("C", "D", Quota(2)), ("D", "", Quota(4))], {}, 7, 7),
        ([("a", "C", Quota(1)), ("C", "D", Quota(2, borrowing=1)), ("D", "", Quota(4))], {}, 4, 4),
        ([("a", "C", Quota(1)), ("C", "D", Quota(2, lending=1)), ("b", "D", Quota(0))], {"b": 1}, 2, 3),
        ([("a", "C", Quota(math.inf)), ("b", "C", Quota(3))], {"a": 9}, math.inf, math.inf),
        ([("a", "C", Quota(math.inf, lending=math.inf)), ("b", "C", Quota(3))], {}, math.inf, math.inf),
    ],
)
def test_what_a_queue_can_take(
    nodes: list[tuple[str, str, Quota]], used: dict[str, int], available: float, potential: float
) -> None:
    forest = _forest(*nodes)
    for name, amount in used.items():
        forest.queues[name].add({FR: amount})
    assert forest.queues["a"].available(FR) == available
    assert forest.queues["a"].potential(FR) == potential


def test_a_cohort_that_is_its_own_ancestor_admits_nothing_until_the_circle_is_broken() -> None:
    forest = _forest(("a", "C", Quota(1)), ("C", "D", Quota()), ("D", "C", Quota()))
    assert not forest.is_active(forest.queues["a"])
    forest.set_cohort("D", "", {FR: Quota(3)}, 1.0)
    assert forest.is_active(forest.queues["a"])
    assert forest.queues["a"].available(FR) == 4


def test_a_cohort_that_nobody_names_any_longer_is_forgotten() -> None:
    forest = _forest(("a", "C", Quota(1)))
    assert list(forest.cohorts) == ["C"]
    forest.set_queue("a", "", {FR: Quota(1)}, 1.0)
    assert list(forest.cohorts) == []


def test_a_deleted_cohort_leaves_its_queues_together_without_its_quota() -> None:
    forest = _forest(("C", "D", Quota(7)), ("a", "C", Quota(1)), ("b", "C", Quota(2)))
    forest.remove_cohort("C")
    assert forest.queues["a"].available(FR) == 3


@dataclass
class _Plain:
    """The definition, read off without any shortcut."""

    name: str
    parent: str
    quota: Quota
    used: int = 0
    children: list[_Plain] = field(default_factory=list)

    def subtree(self) -> float:
        return self.quota.nominal + sum(child.subtree() - child.local() for child in self.children)

    def local(self) -> float:
        return 0 if self.quota.lending is None else max(0, self.subtree() - self.quota.lending)

    def usage(self) -> float:
        return self.used + sum(max(0, child.usage() - child.local()) for child in self.children)

    def available(self, nodes: dict[str, _Plain], usage: bool = True) -> float:
        used = self.usage() if usage else 0
        if not self.parent:
            return self.subtree() - used
        above = nodes[self.parent].available(nodes, usage)
        if self.quota.borrowing is not None:
            stored = self.subtree() - self.local()
            above = min(stored - max(0, used - self.local()) + self.quota.borrowing, above)
        return max(0, self.local() - used) + above


_limits = st.none() | st.integers(0, 6)
_quotas = st.builds(Quota, st.integers(0, 8), _limits, _limits)


@st.composite
def _trees(draw: st.DrawFn) -> dict[str, _Plain]:
    cohorts = [f"C{number}" for number in range(draw(st.integers(1, 4)))]
    nodes: dict[str, _Plain] = {}
    for index, name in enumerate(cohorts):
        parent = draw(st.sampled_from(cohorts[:index])) if index else ""
        nodes[name] = _Plain(name, parent, draw(_quotas))
    for number in range(draw(st.integers(1, 5))):
        name = f"q{number}"
        nodes[name] = _Plain(name, draw(st.sampled_from(cohorts)), draw(_quotas))
    for node in nodes.values():
        if node.parent:
            nodes[node.parent].children.append(node)
    return nodes


@settings(max_examples=150, deadline=None)
@given(_trees(), st.lists(st.tuples(st.integers(0, 4), st.integers(-6, 8)), max_size=12), st.randoms())
def test_the_tree_keeps_to_its_definition_whatever_is_taken_and_given_back(
    nodes: dict[str, _Plain], changes: list[tuple[int, int]], random: Random
) -> None:
    forest = Forest()
    shuffled = list(nodes.values())
    random.shuffle(shuffled)
    for node in shuffled:
        place = forest.set_queue if node.name.startswith("q") else forest.set_cohort
        place(node.name, node.parent, {FR: node.quota}, 1.0)
    queues = [name for name in nodes if name.startswith("q")]
    for number, amount in changes:
        name = queues[number % len(queues)]
        change = max(amount, -nodes[name].used)
        nodes[name].used += change
        if change >= 0:
            forest.queues[name].add({FR: change})
        else:
            forest.queues[name].remove({FR: -change})
        for other, plain in nodes.items():
            placed: Node = (forest.queues if other in queues else forest.cohorts)[other]
            assert placed.usage.get(FR, 0) == plain.usage(), other
            assert placed.available(FR) == plain.available(nodes), other
