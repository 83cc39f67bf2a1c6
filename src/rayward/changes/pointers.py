"""Ways into an object: as RFC 6901 writes them, and as people and plans do."""

from __future__ import annotations

import re
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import is_object

Pointer = tuple[str, ...]

NAMES: Final = ("groupName", "name")
"""The fields that name the items of Ray's and Kubernetes' lists."""
_step: Final = re.compile(r"\[([^\[\]]+)\]|([^.\[\]]+)")


def pointer(path: Pointer) -> str:
    """A path as RFC 6901 writes it."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def steps_of(path: str) -> tuple[str, ...]:
    """The parts of ``workerGroupSpecs[gpu].template``, names with dots in brackets; none where it cannot be read."""
    found = list(_step.finditer(path))
    written = "".join(one[0] if one[0].startswith("[") or not at else f".{one[0]}" for at, one in enumerate(found))
    return tuple(one[1] or one[2] for one in found) if written == path else ()


def place_of(items: list[Any], step: str) -> int | None:
    """Where an item of a list is, by its name or by its number."""
    for index, item in enumerate(items):
        if is_object(item) and step in [item.get(key) for key in NAMES]:
            return index
    return int(step) if step.isascii() and step.isdigit() and int(step) < len(items) else None


def names_of(items: list[Any]) -> str:
    """The names by which the items of a list are found, for a sentence."""
    named = [next((str(item[key]) for key in NAMES if item.get(key)), "") for item in items if is_object(item)]
    return ", ".join(filter(None, named)) or f"{len(items)} without names"
