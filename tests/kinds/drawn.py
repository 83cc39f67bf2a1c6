"""Specs drawn at random from a schema: every field that it has, zeros, empty values and other spellings among them."""

from __future__ import annotations

import random
from typing import Any, Final

Object = dict[str, Any]
Schema = dict[str, Any]

_QUANTITIES: Final = ("1", "1000m", 1, 0, "0", "2Gi", "2048Mi", "1.5", "500m", "1e3", "64k", "100M")
_TEXTS: Final = ("", "a", "b-c")
_DEEPEST: Final = 14
_INSTEAD: Final = {"numOfHosts": 1, "name": "n"}
"""What is never zero or empty: of the first a Go client drops the zero, and the server puts its default in its place;
the API takes no empty name."""


def drawn(schema: Schema, seed: int, often: float = 0.6) -> Any:
    """A value of one seed. The deeper a field that may be left out, the rarer it is."""
    return _drawn(schema, random.Random(seed), often, 0)


def _drawn(schema: Schema, draw: random.Random, often: float, depth: int) -> Any:
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return draw.choice(_QUANTITIES if "pattern" in schema else (0, 8000, "http"))
    match schema.get("type"):
        case "object":
            return _object(schema, draw, often, depth)
        case "array":
            count = draw.choice((0, 1, 1, 2)) if depth < _DEEPEST else 0
            return _distinct([_drawn(schema["items"], draw, often, depth + 1) for _ in range(count)], schema)
        case "boolean":
            return draw.choice((True, False))
        case "integer":
            return draw.choice((0, 1, 7, 8000))
        case "number":
            return draw.choice((0, 1, 0.5))
        case _:
            return "2026-01-01T00:00:00Z" if schema.get("format") == "date-time" else draw.choice(_TEXTS)


def _distinct(items: list[Any], schema: Schema) -> list[Any]:
    """The API takes no two items of one key."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys:
        return list({tuple(item.get(key) for key in keys): item for item in items}.values())
    return list(dict.fromkeys(items)) if schema.get("x-kubernetes-list-type") == "set" else items


def _object(schema: Schema, draw: random.Random, often: float, depth: int) -> Object:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return {
            name: _drawn(values, draw, often, depth + 1) for name in draw.sample(("a", "b.c/d"), draw.randint(0, 2))
        }
    required = set(schema.get("required", ()))
    found: Object = {}
    for name, part in schema.get("properties", {}).items():
        if name in required or (depth < _DEEPEST and draw.random() < often / (1 + depth / 3)):
            value = _drawn(part, draw, often, depth + 1)
            found[name] = _INSTEAD[name] if name in _INSTEAD and not value else value
    return found
