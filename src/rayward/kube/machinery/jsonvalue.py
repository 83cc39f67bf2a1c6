"""What a decoded JSON value is, told to the type checker."""

from __future__ import annotations

from typing import Any, TypeGuard

Object = dict[str, Any]


def is_object(value: Any) -> TypeGuard[Object]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list)


def section(obj: Object, name: str) -> Object:
    """A nested object, empty where it is unset."""
    return obj.get(name) or {}


def entries(obj: Object, name: str) -> list[Any]:
    """A nested array, empty where it is unset."""
    return obj.get(name) or []
