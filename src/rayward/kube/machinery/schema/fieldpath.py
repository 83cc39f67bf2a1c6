"""Paths such as ``.spec['a.b'].c`` that a rule or a selectable field names."""

from __future__ import annotations

import re
from typing import Any, Final

Raw = dict[str, Any]

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'?|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class PathError(ValueError):
    """The path does not lead to a field of the schema."""


def normalize(path: str, schema: Raw) -> str | None:
    """The path as field errors print it, or None where it leads nowhere."""
    try:
        return resolve(path, schema)[0]
    except PathError:
        return None


def resolve(path: str, schema: Raw, *, arrays: bool = True) -> tuple[str, Raw]:
    """Follows a path.

    Args:
        path: Starts with a dot or bracket.
        schema: Where it starts.
        arrays: Whether brackets are allowed.

    Returns:
        The path as field errors print it, and the schema it leads to.

    Raises:
        PathError: It leads nowhere or is malformed.
    """
    tokens = _TOKEN.findall(path)
    printed = ""
    at = 0
    while at < len(tokens):
        part = tokens[at]
        if part == "[":
            if not arrays:
                raise PathError("array notation is not allowed")
            name = _quoted(tokens, at + 1)
            printed, schema = _step(printed, schema, name)
            if at + 2 >= len(tokens):
                raise PathError("unexpected end of JSON path")
            if tokens[at + 2] != "]":
                raise PathError(f"expected ] but got {tokens[at + 2]}")
            at += 3
        elif part == ".":
            if at + 1 >= len(tokens):
                raise PathError("unexpected end of JSON path")
            printed, schema = _step(printed, schema, tokens[at + 1])
            at += 2
        else:
            raise PathError(f"expected [ or . but got: {part}")
    return printed, schema


def _quoted(tokens: list[str], at: int) -> str:
    if at >= len(tokens):
        raise PathError("unexpected end of JSON path")
    part = tokens[at]
    if len(part) < 2 or part[0] != "'" or part[-1] != "'":
        raise PathError(f"expected single quoted string but got {part}")
    return re.sub(r"\\(.)", _unescape, part[1:-1], flags=re.DOTALL)


def _unescape(match: re.Match[str]) -> str:
    if match[1] not in _ESCAPES:
        raise PathError(f"invalid string literal: invalid escape char {match[0]}")
    return _ESCAPES[match[1]]


def _step(printed: str, schema: Raw, name: str) -> tuple[str, Raw]:
    properties: Raw = schema.get("properties") or {}
    additional: Any = schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise PathError("does not refer to a valid field")
        return f"{printed}.{name}" if printed else name, properties[name]
    if additional.__class__ is dict:
        return f"{printed}[{name}]", additional
    raise PathError("does not refer to a valid field")
