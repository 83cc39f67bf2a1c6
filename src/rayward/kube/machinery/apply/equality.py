"""Whether a write would store anything new."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply.owners import managed_fields
from rayward.kube.machinery.apply.values import OBJECT, Object, same


def equal_ignoring_managed_times(a: Object, b: Object) -> bool:
    """Whether two objects differ in nothing but the times of their managed fields."""
    if a is b:
        return True
    if len(a) != len(b) or not _same_owners(managed_fields(a) or [], managed_fields(b) or []):
        return False
    for name, value in a.items():
        if name not in b:
            return False
        other = b[name]
        if name == "metadata" and type(value) is OBJECT and type(other) is OBJECT:
            if not same(_without_managed_fields(value), _without_managed_fields(other)):
                return False
        elif not same(value, other):
            return False
    return True


def _same_owners(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(_same_owner(*pair) for pair in zip(a, b, strict=True))


def _same_owner(a: Any, b: Any) -> bool:
    if type(a) is not OBJECT or type(b) is not OBJECT:
        return same(a, b)
    return {**a, "time": None} == {**b, "time": None}


def _without_managed_fields(metadata: Object) -> Object:
    return {name: value for name, value in metadata.items() if name != "managedFields"}
