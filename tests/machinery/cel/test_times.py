"""Timestamps and durations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.cel import times
from rayward.kube.machinery.cel.values import Duration, EvaluationError

_SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("1h30m", 5400 * _SECOND),
        ("-1.5s", -1_500_000_000),
        (".5s", 500_000_000),
        ("1us2ns", 1002),
        ("1µs", 1000),
    ],
)
def test_gos_durations(text: str, nanoseconds: int) -> None:
    assert times.parse_duration(text) == Duration(nanoseconds)


@pytest.mark.parametrize("text", ["", "1", "1x", "h", "1.h.", "--1s", "9999999999h", "3 days"])
def test_no_duration(text: str) -> None:
    with pytest.raises(EvaluationError):
        times.parse_duration(text)


@pytest.mark.parametrize(("text", "hours"), [("3 days", 72), ("2 weeks 1 hour", 337), ("1h", 1), ("90 minutes", 1.5)])
def test_durations_in_words(text: str, hours: float) -> None:
    assert times.parse_duration_leniently(text) == Duration(int(hours * 3600 * _SECOND))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00.120Z", "2020-01-01T00:00:00.12Z"),
        ("2020-01-01T00:00:00+01:00", "2020-01-01T00:00:00+01:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_timestamps_are_printed_in_their_own_zone(text: str, printed: str) -> None:
    assert times.format_timestamp(times.parse_timestamp(text)) == printed


@pytest.mark.parametrize(
    "text", ["", "2020-01-01", "2020-13-01T00:00:00Z", "2020-01-01T00:00:00", "0000-01-01T00:00:00Z"]
)
def test_no_timestamp(text: str) -> None:
    with pytest.raises(EvaluationError):
        times.parse_timestamp(text)


def test_the_wall_clock_depends_on_the_zone() -> None:
    moment = times.parse_timestamp("2021-02-03T04:05:06Z")
    assert times.local(moment, "America/New_York").hour == 23
    assert times.local(moment, "+05:30").minute == 35
    with pytest.raises(EvaluationError, match="unknown time zone Nowhere"):
        times.local(moment, "Nowhere")


@given(st.integers(-(2**62), 2**62))
def test_a_printed_duration_reads_as_itself(nanoseconds: int) -> None:
    assert times.parse_duration(times.format_duration(Duration(nanoseconds))) == Duration(nanoseconds)
