"""Who is next."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.traffic.choice import least_busy, take_turn


@given(st.lists(st.integers(min_value=0, max_value=100), min_size=1, max_size=6).filter(any))
def test_turns_are_taken_exactly_by_weight(weights: list[int]) -> None:
    spent = [0] * len(weights)
    turns = Counter(take_turn(weights, spent) for _ in range(sum(weights)))
    assert [turns[number] for number in range(len(weights))] == weights


def test_turns_are_spread() -> None:
    spent = [0, 0]
    assert [take_turn([3, 1], spent) for _ in range(8)] == [0, 0, 1, 0, 0, 0, 1, 0]


def test_nobody_has_a_turn_without_weight() -> None:
    assert take_turn([0, 0], [0, 0]) is None
    assert take_turn([], []) is None


@pytest.mark.parametrize(
    ("busy", "start", "chosen"),
    [
        ([0, 0, 0], 1, 1),
        ([2, 1, 1], 0, 1),
        ([2, 1, 1], 2, 2),
        ([None, 5, None], 0, 1),
        ([None], 3, None),
        ([], 0, None),
    ],
)
def test_the_least_busy_is_chosen(busy: list[int | None], start: int, chosen: int | None) -> None:
    assert least_busy(busy, start) == chosen
