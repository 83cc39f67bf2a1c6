from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.rayversion import at_least, parse


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.60.0", (2, 60, 0)),
        ("v2.60", (2, 60, 0)),
        ("2.60.1rc1", (2, 60, 1)),
        ("3.0.0.dev0", (3, 0, 0)),
        ("nightly", None),
        ("2", None),
        ("", None),
    ],
)
def test_versions_are_read_as_far_as_they_are_numbers(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse(text) == version


@pytest.mark.parametrize(
    ("text", "is_it"), [("2.52.0", True), ("2.52.0rc1", True), ("2.51.9", False), ("10.0.0", True), ("nightly", False)]
)
def test_a_feature_needs_a_version_that_is_known(text: str, is_it: bool) -> None:
    assert at_least(text, 2, 52) == is_it


@given(st.text())
def test_any_text_is_a_version_or_none(text: str) -> None:
    assert parse(text) is None or len(parse(text) or ()) == 3
