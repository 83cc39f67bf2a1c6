"""Ages look as kubectl shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import duration

MINUTE, HOUR, DAY = 60, 3600, 86400
NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 25 * MINUTE, "3h25m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 4 * HOUR, "2d4h"),
        (8 * DAY + 4 * HOUR, "8d"),
        (2 * 365 * DAY - 1, "729d"),
        (2 * 365 * DAY, "2y"),
        (3 * 365 * DAY + 40 * DAY, "3y40d"),
        (8 * 365 * DAY + 40 * DAY, "8y"),
    ],
)
def test_a_duration_keeps_two_or_three_figures(seconds: float, text: str):
    assert duration.human(seconds) == text


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("2026-11-15T11:58:30Z", "90s"),
        ("2026-11-15T13:58:30+02:00", "90s"),
        ("2026-11-15T12:00:01Z", "0s"),
        ("2026-11-15T12:05:00Z", "<invalid>"),
        ("yesterday", "<invalid>"),
        ("", "<unknown>"),
        (None, "<unknown>"),
        ("null", "<unknown>"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
    ],
)
def test_an_age_is_counted_from_a_timestamp(timestamp: str | None, text: str):
    assert duration.since(timestamp, NOW) == text


@pytest.mark.parametrize(
    "malformed",
    [
        "2024-01-01",
        "2024-01-01T00:00:00",
        "2024-01-01 00:00:00Z",
        "2024-01-01T00:00:00z",
        "2024-02-30T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00+0700",
        "2024-01-01T00:00:00+25:00",
        "2024-01-01T00:00:00Z ",
        "2024-01-01T00:00:00." + "0" * 100 + "Z",
    ],
)
def test_other_texts_are_no_timestamps(malformed: str):
    assert duration.instant(malformed) is None


@given(
    st.datetimes(min_value=datetime(1000, 1, 2), max_value=datetime(9998, 12, 30)),
    st.integers(-23 * 60, 23 * 60),
)
def test_a_timestamp_names_one_moment_in_any_zone(moment: datetime, offset: int):
    moment = moment.replace(tzinfo=UTC)
    local = (moment + timedelta(minutes=offset)).strftime("%Y-%m-%dT%H:%M:%S.%f")
    zone = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
    assert duration.instant(local + zone) == moment
