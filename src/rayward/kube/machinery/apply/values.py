"""JSON values: what they are made of, and when two are equal."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import orjson

Object: TypeAlias = dict[str, Any]

OBJECT: Final[Any] = dict
ARRAY: Final[Any] = list
TEXT: Final[Any] = str
"""To compare ``type(value)`` with; as Any, so that the type checker leaves a value Any."""

ABSENT: Final[Any] = object()
"""No value at all, which is not the same as null."""


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal as Kubernetes means it: 1 equals 1.0, true equals neither."""
    if a is b:
        return True
    if a != b:
        return False
    if type(a) is OBJECT or type(a) is ARRAY:
        # Equal for Python; the texts tell whether a true passed for a 1 somewhere inside.
        text = _dumps(a)
        return (text is not None and text == _dumps(b)) or _same_inside(a, b)
    return (a is True or a is False) == (b is True or b is False)


def metadata_of(obj: Object | None) -> Object:
    """An object's metadata; empty if it has none."""
    found: Any = obj.get("metadata") if obj else None
    return found if type(found) is OBJECT else {}


def _dumps(value: Any) -> bytes | None:
    try:
        return orjson.dumps(value)
    except TypeError:
        return None


def _same_inside(a: Any, b: Any) -> bool:
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is OBJECT:
            pairs += [(a[key], b[key]) for key in a]
        elif type(a) is ARRAY:
            pairs += zip(a, b, strict=True)
        elif (a is True or a is False) != (b is True or b is False):
            return False
    return True
