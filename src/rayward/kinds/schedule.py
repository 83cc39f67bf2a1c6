"""Cron schedules in a time zone: the five fields and descriptors that Kubernetes and KubeRay accept.

Days are matched on the wall clock of the zone, as cron does. Where the clock jumps, a job is neither lost nor run
twice: a time of day that is skipped falls on the moment after the jump, one that occurs twice counts the first time.
Schedules for every hour follow elapsed time instead: each real hour has its ticks. A day of the month and a day of the
week that are both restricted match when either does.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rayward.kinds.durations import duration

_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_EXAMPLE: Final = "write five fields such as '30 4 * * 1-5', or @daily"
_LONGEST_TEXT: Final = 256
_LONGEST_GAP: Final = timedelta(days=366 * 41)
"""Between two 29ths of February on one day of the week, with a century's year that has none in between."""
_DAY: Final = timedelta(days=1)
_SECOND: Final = timedelta(seconds=1)


class ScheduleError(ValueError):
    """A schedule or time zone that cannot be followed; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    least: int
    most: int
    names: dict[str, int]


_FIELDS: Final = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 6, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When to run; ``every`` stands alone and counts from the last tick."""

    zone: ZoneInfo
    minutes: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = True
    """Whether one of the two day fields is unrestricted: then both must match, else either."""
    every: timedelta | None = None

    def next(self, after: datetime) -> datetime | None:
        """The first tick later than ``after``, in UTC; None when no day ever matches."""
        if self.every is not None:
            return (after + self.every).replace(microsecond=0)
        # A jump of the clock may carry yesterday's wall time past midnight.
        day = after.astimezone(self.zone).date() - _DAY
        last = day + _LONGEST_GAP
        while day <= last:
            if self._has(day):
                ticks = self._ticks(day)
                found = bisect_right(ticks, after)
                if found < len(ticks):
                    return ticks[found]
            day += _DAY
        return None

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """The last tick later than ``after`` and not later than ``until``, in UTC."""
        if self.every is not None:
            passed = (until - after) // self.every
            return (after + passed * self.every).replace(microsecond=0) if passed > 0 else None
        day = until.astimezone(self.zone).date() + _DAY
        first = max(after.astimezone(self.zone).date() - _DAY, day - _LONGEST_GAP)
        while day >= first:
            if self._has(day):
                ticks = self._ticks(day)
                found = bisect_left(ticks, until + _SECOND)
                if found and ticks[found - 1] > after:
                    return ticks[found - 1]
            day -= _DAY
        return None

    def _has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month and of_week if self.any_day else of_month or of_week

    def _ticks(self, day: date) -> list[datetime]:
        return _ticks(self.zone, day, self.hours, self.minutes)


@lru_cache(maxsize=512)
def _ticks(zone: ZoneInfo, day: date, hours: Sequence[int], minutes: Sequence[int]) -> list[datetime]:
    """The instants of one day of the wall clock, in order."""
    hourly = len(hours) == 24
    found: set[datetime] = set()
    for hour in hours:
        for minute in minutes:
            found.update(_instants(datetime.combine(day, time(hour, minute), zone), hourly=hourly))
    return sorted(found)


def _instants(wall: datetime, *, hourly: bool) -> Iterator[datetime]:
    first = wall.astimezone(UTC)
    exists = first.astimezone(wall.tzinfo).replace(tzinfo=None) == wall.replace(tzinfo=None)
    if not exists:
        if not hourly:
            yield _after_the_jump(wall)
        return
    yield first
    if hourly:
        yield wall.replace(fold=1).astimezone(UTC)


def _after_the_jump(wall: datetime) -> datetime:
    """The moment at which the clock jumps over ``wall``."""
    # With fold=0 a skipped time is read by the offset before the jump, with fold=1 by the one after it.
    late, early = wall.astimezone(UTC), wall.replace(fold=1).astimezone(UTC)
    before = early.astimezone(wall.tzinfo).utcoffset()
    while late - early > _SECOND:
        middle = (early + (late - early) / 2).replace(microsecond=0)
        if middle.astimezone(wall.tzinfo).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late


@lru_cache(maxsize=256)
def parse(text: str, time_zone: str | None = None) -> Schedule:
    """Read a schedule; without a time zone it is UTC.

    Raises:
        ScheduleError: It cannot be followed, or no day ever matches it.
    """
    zone = _zone(time_zone)
    stripped = text.strip()
    if len(text) > _LONGEST_TEXT:
        raise ScheduleError(f"a schedule of {len(text)} characters is longer than the {_LONGEST_TEXT} one may have")
    if "TZ" in text:
        raise ScheduleError("a time zone is not part of the schedule: write it into spec.timeZone")
    if stripped.startswith(_EVERY):
        delay = duration(stripped.removeprefix(_EVERY).strip())
        if delay is None:
            raise ScheduleError(f"{stripped[:64]!r} has no duration: write one such as @every 1h30m")
        return Schedule(zone, every=max(delay - timedelta(microseconds=delay.microseconds), _SECOND))
    parts = _DESCRIPTORS.get(stripped, stripped).split()
    if len(parts) != len(_FIELDS):
        known = f"; descriptors are {', '.join(_DESCRIPTORS)} and @every" if stripped.startswith("@") else ""
        raise ScheduleError(f"{stripped[:64]!r} has {len(parts)} fields and a schedule has 5: {_EXAMPLE}{known}")
    minutes, hours, days, months, weekdays = (_values(part, field) for part, field in zip(parts, _FIELDS, strict=True))
    schedule = Schedule(
        zone,
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(days),
        frozenset(months),
        frozenset(weekdays),
        any_day=_is_open(parts[2]) or _is_open(parts[4]),
    )
    if schedule.next(datetime(2096, 1, 1, tzinfo=UTC)) is None:
        raise ScheduleError(f"no day ever matches {stripped[:64]!r}: {_EXAMPLE}")
    return schedule


def _zone(name: str | None) -> ZoneInfo:
    if not name:
        return ZoneInfo("UTC")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"{name[:64]!r} is not a time zone: write one such as Europe/Berlin or UTC") from None


def _is_open(part: str) -> bool:
    return any(piece.partition("/")[0] in ("*", "?") for piece in part.split(","))


def _values(part: str, field: _Field) -> set[int]:
    found: set[int] = set()
    for piece in part.split(","):
        body, slash, step_text = piece.partition("/")
        first_text, dash, last_text = body.partition("-")
        if body in ("*", "?"):
            first, last = field.least, field.most
        else:
            first = _number(first_text, field)
            last = _number(last_text, field) if dash else field.most if slash else first
        if last < first:
            raise ScheduleError(f"{piece[:32]!r} ends before it begins in the {field.name}: write the lower end first")
        step = _step(step_text, field) if slash else 1
        found.update(range(first, last + 1, step))
    return found


def _number(text: str, field: _Field) -> int:
    value = field.names.get(text.lower())
    if value is None and text.isascii() and text.isdigit() and len(text) < 4:
        value = int(text)
    if value is None or not field.least <= value <= field.most:
        raise ScheduleError(f"{text[:32]!r} is no {field.name}: write a number from {field.least} to {field.most}")
    return value


def _step(text: str, field: _Field) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4) or int(text) == 0:
        raise ScheduleError(f"{text[:32]!r} is not a step in the {field.name}: write a number above 0 after the slash")
    return int(text)
