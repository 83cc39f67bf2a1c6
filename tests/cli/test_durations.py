"""Durations as users write them."""

from __future__ import annotations

import pytest

from rayward.cli.durations import seconds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("0", 0),
        ("250ms", 0.25),
        ("1.5s", 1.5),
        ("5", None),
        ("", None),
        ("m", None),
        ("-1s", None),
    ],
)
def test_how_long_it_is(text: str, found: float | None) -> None:
    assert seconds(text) == found
