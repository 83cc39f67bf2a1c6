from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.schedule import ScheduleError, parse

BERLIN = "Europe/Berlin"
"""Jumps from 02:00 to 03:00 on 29 March 2026 (01:00 UTC), back from 03:00 to 02:00 on 25 October (01:00 UTC)."""
LORD_HOWE = "Australia/Lord_Howe"
"""Jumps by half an hour: from 02:00 to 02:30 on 4 October 2026 (15:30 UTC on the 3rd)."""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "ticks"),
    [
        ("* * * * *", "2026-01-01 00:00:30", ["2026-01-01 00:01", "2026-01-01 00:02"]),
        ("30 4 * * *", "2026-01-01 04:30", ["2026-01-02 04:30", "2026-01-03 04:30"]),
        ("*/20 9-10 * * *", "2026-01-01 09:30", ["2026-01-01 09:40", "2026-01-01 10:00", "2026-01-01 10:20"]),
        ("5/20 0 * * *", "2026-01-01 00:00", ["2026-01-01 00:05", "2026-01-01 00:25", "2026-01-01 00:45"]),
        ("0 0 29 2 *", "2026-01-01 00:00", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 29 2 *", "2097-01-01 00:00", ["2104-02-29 00:00"]),
        ("0 0 1 jan,jul *", "2026-01-01 00:00", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("0 0 * * MON-WED", "2026-01-01 00:00", ["2026-01-05 00:00", "2026-01-06 00:00", "2026-01-07 00:00"]),
        ("0 0 13 * 5", "2026-01-10 00:00", ["2026-01-13 00:00", "2026-01-16 00:00"]),
        ("0 0 13 * ?", "2026-01-10 00:00", ["2026-01-13 00:00", "2026-02-13 00:00"]),
        ("0 0 */2 * 1", "2026-01-01 00:00", ["2026-01-05 00:00", "2026-01-19 00:00"]),
        ("@weekly", "2026-01-01 00:00", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("@every 90s", "2026-01-01 00:00", ["2026-01-01 00:01:30", "2026-01-01 00:03"]),
    ],
)
def test_ticks_follow_each_other(schedule: str, after: str, ticks: list[str]) -> None:
    now, found = at(after), list[datetime]()
    for _ in ticks:
        tick = parse(schedule).next(now)
        assert tick is not None
        found.append(now := tick)
    assert found == [at(tick) for tick in ticks]


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "ticks"),
    [
        pytest.param(
            "30 4 * * *", BERLIN, "2026-03-28 00:00", ["2026-03-28 03:30", "2026-03-29 02:30"], id="after the jump"
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-03-28 12:00",
            ["2026-03-29 01:00", "2026-03-30 00:30"],
            id="a skipped time falls on the moment after the jump",
        ),
        pytest.param(
            "0,30 2 * * *",
            BERLIN,
            "2026-03-28 12:00",
            ["2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 00:30"],
            id="two skipped times are one",
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-10-24 12:00",
            ["2026-10-25 00:30", "2026-10-26 01:30"],
            id="a repeated time counts once",
        ),
        pytest.param(
            "0 * * * *",
            BERLIN,
            "2026-10-24 23:30",
            ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"],
            id="every real hour when the clock goes back",
        ),
        pytest.param(
            "0 * * * *",
            BERLIN,
            "2026-03-29 00:30",
            ["2026-03-29 01:00", "2026-03-29 02:00"],
            id="every real hour when the clock goes forward",
        ),
        pytest.param(
            "15 2 * * *",
            LORD_HOWE,
            "2026-10-03 00:00",
            ["2026-10-03 15:30", "2026-10-04 15:15"],
            id="half an hour is skipped",
        ),
        pytest.param("0 0 1 * *", "Asia/Kolkata", "2026-01-15 00:00", ["2026-01-31 18:30"], id="another day in UTC"),
        pytest.param(
            "30 0 * * *", "America/Havana", "2026-03-07 12:00", ["2026-03-08 05:00"], id="midnight itself is skipped"
        ),
    ],
)
def test_daylight_saving_neither_loses_nor_repeats(schedule: str, zone: str, after: str, ticks: list[str]) -> None:
    now, found = at(after), list[datetime]()
    for _ in ticks:
        tick = parse(schedule, zone).next(now)
        assert tick is not None
        found.append(now := tick)
    assert found == [at(tick) for tick in ticks]


@pytest.mark.parametrize(
    ("schedule", "after", "until", "latest"),
    [
        ("0 * * * *", "2026-01-01 00:00", "2026-01-01 05:30", "2026-01-01 05:00"),
        ("0 * * * *", "2026-01-01 05:00", "2026-01-01 05:30", None),
        ("0 * * * *", "2026-01-01 04:00", "2026-01-01 05:00", "2026-01-01 05:00"),
        ("0 0 29 2 *", "2026-01-01 00:00", "2040-01-01 00:00", "2036-02-29 00:00"),
        ("@every 1h", "2026-01-01 00:30", "2026-01-01 03:00", "2026-01-01 02:30"),
        ("@every 1h", "2026-01-01 00:30", "2026-01-01 01:00", None),
    ],
)
def test_of_many_missed_ticks_the_latest_counts(schedule: str, after: str, until: str, latest: str | None) -> None:
    assert parse(schedule).latest(at(after), at(until)) == (at(latest) if latest else None)


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ("", "5"),
        ("* * * *", "4 fields"),
        ("60 * * * *", "no minute"),
        ("* 24 * * *", "no hour"),
        ("* * 0 * *", "no day of month"),
        ("* * * 13 *", "no month"),
        ("* * * * 7", "from 0 to 6"),
        ("* * * * someday", "no day of week"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "not a step"),
        ("0 0 31 2 *", "no day ever matches"),
        ("@sometimes", "@every"),
        ("@every soon", "no duration"),
        ("CRON_TZ=UTC * * * * *", "spec.timeZone"),
        ("*" * 300, "longer"),
    ],
)
def test_what_is_no_schedule_is_refused_with_a_remedy(schedule: str, says: str) -> None:
    with pytest.raises(ScheduleError, match=says):
        parse(schedule)


@pytest.mark.parametrize("zone", ["Nowhere", "../etc/passwd", "/etc/passwd", "a" * 500, "\0"])
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(ScheduleError, match="not a time zone"):
        parse("@daily", zone)


_FIELD = st.sampled_from(["*", "*/7", "3", "1-5", "2,4"])


@given(
    fields=st.tuples(_FIELD, _FIELD, _FIELD, _FIELD, _FIELD),
    zone=st.sampled_from(["UTC", BERLIN, LORD_HOWE, "America/Havana"]),
    minutes=st.integers(0, 60 * 24 * 366),
)
def test_the_next_tick_is_later_and_no_tick_lies_between(
    fields: tuple[str, str, str, str, str], zone: str, minutes: int
) -> None:
    schedule = parse(" ".join(fields), zone)
    after = at("2026-01-01 00:00") + timedelta(minutes=minutes)
    tick = schedule.next(after)
    assert tick is not None
    assert tick > after
    assert schedule.latest(after, tick) == tick
    assert schedule.latest(after, tick - timedelta(seconds=1)) is None


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ScheduleError):
        parse(text)
