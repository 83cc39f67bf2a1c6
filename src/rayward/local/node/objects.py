"""Reading JSON objects whose parts may be missing or null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def part(whole: Mapping[str, Any], name: str) -> Object:
    """An object inside another; empty where there is none."""
    found: Object | None = whole.get(name)
    return {} if found is None else found


def many(whole: Mapping[str, Any], name: str) -> list[Any]:
    """A list inside an object; empty where there is none."""
    found: list[Any] | None = whole.get(name)
    return [] if found is None else found
