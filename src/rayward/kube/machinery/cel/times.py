"""Timestamps and durations: parsing, printing and the calendar."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rayward.kube.machinery.cel.values import MAX_INT, MIN_INT, Duration, EvaluationError, Timestamp, checked_duration
from rayward.kube.machinery.digits import parse_digits

_NANO: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": _NANO,
    "m": 60 * _NANO,
    "h": 3600 * _NANO,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
# Begins at the first digit of a number only, and never tries again with fewer: a text without a unit is read once.
_LENIENT: Final = re.compile(r"(?<![0-9])([0-9]++)\s*+([A-Za-zµ]++)")
_LENIENT_UNITS: Final = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), _NANO),
    (("m", "min"), 60 * _NANO),
    (("h", "hr", "hour"), 3600 * _NANO),
    (("d", "day"), 24 * 3600 * _NANO),
    (("w", "wk", "week"), 7 * 24 * 3600 * _NANO),
)
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
# Go too looks at no more digits behind the point than 63 bits hold.
_FRACTION: Final = 18
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_SECONDS: Final = -62135596800
_MAX_SECONDS: Final = 253402300799


def parse_duration(text: str) -> Duration:
    """A duration as Go writes it, such as ``1h30m`` or ``-1.5s``."""
    body = text[1:] if text[:1] in ("+", "-") else text
    total = 0
    at = 0
    if body != "0":
        while at < len(body):
            match = _PART.match(body, at)
            if match is None or not (match[1] or match[2]):
                raise EvaluationError(f'time: invalid duration "{text}"')
            unit = _UNITS[match[3]]
            fraction = (match[2] or "0")[:_FRACTION]
            whole = parse_digits(match[1] or "0")
            if whole is None:
                raise EvaluationError(f'time: invalid duration "{text}"')
            total += whole * unit + int(fraction) * unit // 10 ** len(fraction)
            at = match.end()
        if not body:
            raise EvaluationError(f'time: invalid duration "{text}"')
    total = -total if text.startswith("-") else total
    if not MIN_INT <= total <= MAX_INT:
        raise EvaluationError(f'time: invalid duration "{text}"')
    return Duration(total)


def parse_duration_leniently(text: str) -> Duration:
    """A duration as the OpenAPI format has it: Go's, or words such as ``3 days``."""
    try:
        return parse_duration(text)
    except EvaluationError:
        pass
    total, known = 0, False
    for match in _LENIENT.finditer(text):
        unit, factors = match[2].lower(), list[int]()
        for variants, factor in _LENIENT_UNITS:
            for variant in variants:
                if unit == variant or (variant == variants[-1] and unit.startswith(variant)):
                    factors.append(factor)
        number = parse_digits(match[1]) if factors else 0
        if number is None:
            raise EvaluationError(f"unable to parse {text} as duration")
        known |= bool(factors)
        total += number * sum(factors)
    if not known or not MIN_INT <= total <= MAX_INT:
        raise EvaluationError(f"unable to parse {text} as duration")
    return Duration(total)


def parse_timestamp(text: str) -> Timestamp:
    """A moment as in RFC 3339."""
    match = _RFC3339.fullmatch(text) if len(text) < 64 else None
    if match is not None:
        *parts, fraction, sign, hours, minutes = match.groups()
        try:
            moment = datetime(*map(int, parts), tzinfo=UTC)  # pyright: ignore[reportArgumentType]
        except ValueError:
            moment = None
        if moment is not None:
            offset = int(hours) * 3600 + int(minutes) * 60 if sign else 0
            offset = -offset if sign == "-" else offset
            seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset
            return checked_timestamp(seconds * _NANO + int((fraction or "")[:9].ljust(9, "0")), offset)
    raise EvaluationError(f'invalid timestamp "{text}"')


def parse_date(text: str) -> Timestamp:
    """Midnight of a date such as ``2006-01-02``."""
    return parse_timestamp(f"{text}T00:00:00Z")


def checked_timestamp(nanoseconds: int, offset: int = 0) -> Timestamp:
    """A moment between the years 1 and 9999."""
    if not _MIN_SECONDS <= nanoseconds // _NANO <= _MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds, offset)


def format_duration(value: Duration) -> str:
    """Seconds with up to nine digits, as CEL prints a duration."""
    sign = "-" if value.nanoseconds < 0 else ""
    seconds, rest = divmod(abs(value.nanoseconds), _NANO)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{seconds}{fraction}s"


def format_timestamp(value: Timestamp) -> str:
    """RFC 3339, in the zone it was written in."""
    seconds, rest = divmod(value.nanoseconds, _NANO)
    moment = _EPOCH + timedelta(seconds=seconds + value.offset)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    zone = "Z"
    if value.offset:
        hours, minutes = divmod(abs(value.offset) // 60, 60)
        zone = f"{'-' if value.offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}{zone}"


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    if match := re.fullmatch(r"([+-]?)([0-9]{1,2}):([0-9]{2})", name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return UTC if name in ("", "UTC") else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def local(value: Timestamp, zone: str) -> datetime:
    """The wall clock of a time zone at a moment."""
    moment = _EPOCH + timedelta(seconds=value.nanoseconds // _NANO)
    try:
        return moment.astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def add(moment: Timestamp, span: Duration) -> Timestamp:
    """The moment a duration later."""
    return checked_timestamp(moment.nanoseconds + span.nanoseconds, moment.offset)


def between(later: Timestamp, earlier: Timestamp) -> Duration:
    """The time from one moment to another."""
    return checked_duration(later.nanoseconds - earlier.nanoseconds)
