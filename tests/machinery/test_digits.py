"""Whole numbers in texts that others wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.digits import MAX_INT64, parse_digits


@given(st.integers(0, 1 << 70), st.integers(0, 1 << 70), st.integers(0, 3))
def test_a_number_is_read_up_to_the_most_that_is_allowed(number: int, most: int, zeros: int) -> None:
    assert parse_digits("0" * zeros + str(number), most) == (number if number <= most else None)


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_0", "1.0", "\u0663", "\u00b2", "x"])
def test_anything_but_digits_is_no_number(text: str) -> None:
    assert parse_digits(text) is None


def test_more_digits_than_python_reads_are_a_number_all_the_same() -> None:
    assert parse_digits("9" * 5_000) is None
    assert parse_digits("0" * 5_000 + "7") == 7
    assert parse_digits(str(MAX_INT64)) == MAX_INT64
