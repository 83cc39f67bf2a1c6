"""Lengths of time as annotations say them: Go's way, or a whole number of seconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_LONGEST: Final = timedelta(days=365)
_LONGEST_TEXT: Final = 64
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_UNIT: Final = "|".join(sorted(_SECONDS, key=len, reverse=True))
_NUMBER: Final = r"\d+\.?\d*|\.\d+"

_whole: Final = re.compile(rf"\+?(?:(?:{_NUMBER})(?:{_UNIT}))+", re.ASCII).fullmatch
_parts: Final = re.compile(rf"({_NUMBER})({_UNIT})", re.ASCII).findall


def duration(text: str) -> timedelta | None:
    """``30m``, ``1h30m``, ``+1.5s`` or ``300``, at most a year; None where it is no time, or none that passes."""
    if len(text) > _LONGEST_TEXT:
        return None
    if text.isascii() and text.isdigit():
        seconds = float(text)
    elif _whole(text):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _parts(text))
    else:
        return None
    # A time below the clock's grain is still one.
    smallest = timedelta.resolution.total_seconds()
    return timedelta(seconds=min(max(seconds, smallest), _LONGEST.total_seconds())) if seconds > 0 else None
