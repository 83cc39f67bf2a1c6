"""Ages as kubectl shows them, and the timestamps they are counted from."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_UNKNOWN: Final = "<unknown>"
_INVALID: Final = "<invalid>"
_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)

_timestamp: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))", re.ASCII
).fullmatch


def human(seconds: float) -> str:
    """A duration in two or three significant figures: ``90s``, ``5m3s``, ``3h25m``, ``2d4h``, ``3y40d``."""
    whole = int(seconds)
    if whole < -1:
        return _INVALID
    if whole < 120:
        return f"{max(whole, 0)}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, rest = divmod(hours, 24)
    if days < 8:
        return f"{days}d{rest}h" if rest else f"{days}d"
    if days < 365 * 2:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return f"{years}y{rest}d" if years < 8 and rest else f"{years}y"


def since(timestamp: str | None, now: datetime) -> str:
    """The age of a timestamp: ``<unknown>`` when there is none, ``<invalid>`` when it is malformed or to come."""
    if not timestamp or timestamp == "null":
        return _UNKNOWN
    moment = instant(timestamp)
    if moment is None:
        return _INVALID
    return human((now - moment).total_seconds()) if moment != _ZERO else _UNKNOWN


@lru_cache(maxsize=1024)
def instant(timestamp: str) -> datetime | None:
    """The moment an RFC 3339 timestamp names, to the microsecond, or None when it is malformed."""
    match = _timestamp(timestamp) if len(timestamp) < 64 else None
    if match is None:
        return None
    *digits, fraction, utc, sign, offset_hours, offset_minutes = match.groups()
    year, month, day, hour, minute, second = map(int, digits)
    microsecond = int((fraction or "")[:6].ljust(6, "0"))
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, UTC)
        if utc:
            return local
        # Go's parser, whose answers we give, takes offsets up to 24:60.
        if int(offset_hours) > 24 or int(offset_minutes) > 60:
            return None
        offset = timedelta(hours=int(offset_hours), minutes=int(offset_minutes))
        return local + offset if sign == "-" else local - offset
    except (ValueError, OverflowError):
        return None
