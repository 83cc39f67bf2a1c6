"""A length of time in an annotation is read as Go reads it, or as seconds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rayward.kinds.durations import duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", timedelta(minutes=30)),
        ("1h30m", timedelta(minutes=90)),
        ("90", timedelta(seconds=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("1.5s", timedelta(seconds=1.5)),
        ("99999999999999h", timedelta(days=365)),
        ("+2m", timedelta(minutes=2)),
        ("1us", timedelta(microseconds=1)),
        ("1500µs", timedelta(microseconds=1500)),
        ("1ns", timedelta(microseconds=1)),
        (".5h", timedelta(minutes=30)),
        ("1.m", timedelta(minutes=1)),
        ("9" * 64, timedelta(days=365)),
        ("9" * 65, None),
        ("0", None),
        ("0s", None),
        ("", None),
        ("-5m", None),
        ("5 m", None),
        ("m", None),
        ("٣", None),
    ],
)
def test_durations(text: str, expected: timedelta | None) -> None:
    assert duration(text) == expected
