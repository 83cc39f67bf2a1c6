"""Lists of indexes such as ``1,3-5,7``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.builtin.job.indexes import IndexesError, count_indexes, overlap


def _text(indexes: set[int]) -> str:
    parts: list[str] = []
    rest = sorted(indexes)
    while rest:
        low = high = rest.pop(0)
        while rest and rest[0] == high + 1:
            high = rest.pop(0)
        parts.append(str(low) if low == high else f"{low}-{high}")
    return ",".join(parts)


_INDEXES = st.sets(st.integers(0, 30), max_size=12)


@given(_INDEXES)
def test_indexes_are_counted(indexes: set[int]) -> None:
    assert count_indexes(_text(indexes), 31) == len(indexes)


@given(_INDEXES, _INDEXES)
def test_the_first_index_in_two_lists(completed: set[int], failed: set[int]) -> None:
    assert overlap(_text(completed), _text(failed), 31) == min(completed & failed, default=None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", 'cannot convert string to integer for index: "a"'),
        ("", ""),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("7", 'too large index: "7"'),
        ("1-7", 'too large index: "7"'),
        ("2-1", "non-increasing order, previous: 2, current: 1"),
        ("1-1", "non-increasing order, previous: 1, current: 1"),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("0-2,1", "non-increasing order, previous: 2, current: 1"),
        (
            "0-1-2",
            (
                'the fragment "0-1-2" violates the requirement that an index interval can have at most two parts '
                "separated by '-'"
            ),
        ),
    ],
)
def test_what_is_no_list(text: str, why: str) -> None:
    if not why:
        assert count_indexes(text, 5) == 0
        return
    with pytest.raises(IndexesError) as refused:
        count_indexes(text, 5)
    assert str(refused.value) == why


def test_what_cannot_be_read_overlaps_nothing() -> None:
    assert overlap("x,1-2", "2,y", 5) == 2
    assert overlap("x", "x", 5) is None
