from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.controllers.jobs.indexes import parse, render


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set[int](), ""), ({3}, "3"), ({1, 2}, "1,2"), ({1, 2, 3}, "1-3"), ({0, 2, 3, 4, 7, 8}, "0,2-4,7,8")],
    ids=["none", "one", "a pair", "a run", "all kinds"],
)
def test_lists(indexes: set[int], text: str) -> None:
    assert render(indexes) == text
    assert parse(text, 100) == indexes


@given(st.sets(st.integers(0, 60)))
def test_what_is_written_can_be_read(indexes: set[int]) -> None:
    assert parse(render(indexes), 61) == indexes


def test_what_is_beyond_the_end_or_unreadable_is_passed_over() -> None:
    assert parse("0,2-9,x,12", 5) == {0, 2, 3, 4}
