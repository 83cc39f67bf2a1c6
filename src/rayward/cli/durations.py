"""Durations as users write them: ``90s``, ``5m``, ``1h30m``, ``0``."""

from __future__ import annotations

import re
from typing import Any, Final

import click

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_whole = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+").fullmatch
_part = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)").findall


def seconds(text: str) -> float | None:
    """How many seconds a duration is; None if it is none."""
    if text == "0":
        return 0.0
    return sum(float(amount) * _UNITS[unit] for amount, unit in _part(text)) if _whole(text) else None


class DurationType(click.ParamType[float]):
    """A duration as a number of seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = seconds(str(value))
        if found is None:
            self.fail(f"{value!r} is not a duration; write 90s, 5m or 1h30m", param, ctx)
        return found
