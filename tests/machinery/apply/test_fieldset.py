from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.apply.element import order
from rayward.kube.machinery.apply.fieldset import (
    LEAF,
    NOTHING,
    FieldSet,
    covers,
    difference,
    exclude,
    holds,
    intersection,
    paths,
    set_of,
    union,
)

Path = tuple[str, ...]

_STEPS = ["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"']
PATHS = st.lists(st.sampled_from(_STEPS), min_size=1, max_size=4).map(tuple)
SETS = st.frozensets(PATHS, max_size=8)


def as_paths(fields: FieldSet) -> frozenset[Path]:
    return frozenset(paths(fields, order))


def is_canonical(fields: FieldSet, *, root: bool = True) -> bool:
    """No node is only a member that says so, or leads nowhere."""
    if root and not fields:
        return True
    if "." in fields and (root or len(fields) == 1 or fields["."] != LEAF):
        return False
    return all(is_canonical(node, root=False) for step, node in fields.items() if node and step != ".")


def test_a_set_is_what_fieldsv1_is() -> None:
    assert set_of(("f:a",), ("f:b", "f:c"), ("f:b",), ("f:b", "f:d", "f:e")) == {
        "f:a": {},
        "f:b": {".": {}, "f:c": {}, "f:d": {"f:e": {}}},
    }


@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        pytest.param([("f:a",)], [("f:a",)], [], id="the same path goes"),
        pytest.param([("f:a",), ("f:a", "f:b")], [("f:a",)], [("f:a", "f:b")], id="what is below a path stays"),
        pytest.param([("f:a",)], [("f:a", "f:b")], [("f:a",)], id="what is above a path stays"),
        pytest.param([("f:a", "f:b")], [("f:a", "f:b"), ("f:c",)], [], id="nothing leads nowhere"),
    ],
)
def test_difference(a: list[Path], b: list[Path], left: list[Path]) -> None:
    assert difference(set_of(*a), set_of(*b)) == set_of(*left)


@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        pytest.param([("f:a",), ("f:a", "f:b")], [("f:a",)], [], id="what is below goes too"),
        pytest.param([("f:a",), ("f:a", "f:b")], [("f:a", "f:b")], [("f:a",)], id="what is above stays"),
        pytest.param([("f:a", "f:b"), ("f:a", "f:c")], [("f:a", "f:b")], [("f:a", "f:c")], id="what is beside stays"),
    ],
)
def test_exclude(a: list[Path], b: list[Path], left: list[Path]) -> None:
    assert exclude(set_of(*a), set_of(*b)) == set_of(*left)


@given(SETS)
def test_a_set_holds_the_paths_it_was_made_of(some: frozenset[Path]) -> None:
    made = set_of(*some)
    assert as_paths(made) == some
    assert is_canonical(made)
    assert all(holds(made, path) for path in some)
    assert not holds(made, ("f:a", "f:nowhere"))


@given(SETS, SETS)
def test_sets_behave_as_sets_of_paths(some: frozenset[Path], other: frozenset[Path]) -> None:
    a, b = set_of(*some), set_of(*other)
    before = repr((a, b))
    results: dict[str, tuple[Any, Any]] = {
        "union": (union(a, b), some | other),
        "intersection": (intersection(a, b), some & other),
        "difference": (difference(a, b), some - other),
        "exclude": (exclude(a, b), {p for p in some if not any(p[: len(q)] == q for q in other)}),
    }
    for name, (got, expected) in results.items():
        assert as_paths(got) == expected, name
        assert is_canonical(got), name
    assert covers(a, b) == (other <= some)
    assert repr((a, b)) == before


@given(SETS)
def test_nothing_changes_nothing(some: frozenset[Path]) -> None:
    a = set_of(*some)
    assert union(a, NOTHING) == union(NOTHING, a) == difference(a, NOTHING) == exclude(a, NOTHING) == a
    assert intersection(a, NOTHING) == intersection(NOTHING, a) == difference(NOTHING, a) == NOTHING
    assert difference(a, a) == NOTHING
    assert intersection(a, a) == a


def test_paths_come_in_kubernetes_order() -> None:
    found = set_of(("i:2",), ('v:"x"',), ('k:{"a":2}',), ('k:{"a":10}',), ("f:b", "f:c"), ("f:a",), ("f:b",))
    assert list(paths(found, order)) == [
        ("f:a",),
        ("f:b",),
        ('k:{"a":2}',),
        ('k:{"a":10}',),
        ('v:"x"',),
        ("i:2",),
        ("f:b", "f:c"),
    ]
