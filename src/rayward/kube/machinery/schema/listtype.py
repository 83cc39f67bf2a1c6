"""Lists that are sets or keyed maps hold nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import orjson

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema.findings import shown
from rayward.kube.machinery.schema.node import Node


def uniqueness(node: Node) -> Callable[[list[Any]], bool] | None:
    """A quick test that a list of at least two items breaks no rule of its list type; None where there is none."""
    if node.list_type == "map":
        keys = node.map_keys
        return _unique_by(keys[0]) if len(keys) == 1 else _unique_by_all(keys)
    if node.list_type == "set":
        return lambda items: not _repeated(items)
    return None


def _unique_by(key: str) -> Callable[[list[Any]], bool]:
    def check(items: list[Any]) -> bool:
        seen: set[Any] = set()
        for item in items:
            if item.__class__ is not dict:
                return False
            value = item.get(key)
            if value.__class__ is not str or value in seen:
                return False
            seen.add(value)
        return True

    return check


def _unique_by_all(keys: list[str]) -> Callable[[list[Any]], bool]:
    def check(items: list[Any]) -> bool:
        seen: set[tuple[Any, ...]] = set()
        for item in items:
            if item.__class__ is not dict:
                return False
            identity = tuple([item.get(key) for key in keys])
            for part in identity:
                if part.__class__ is not str and part.__class__ is not int:
                    return False
            if identity in seen:
                return False
            seen.add(identity)
        return True

    return check


def check(node: Node, value: Any, path: str = "") -> list[FieldError]:
    """Every repeated item below a value."""
    if value.__class__ is list:
        errors: list[FieldError] = []
        if node.list_type == "set":
            errors += [fielderror.duplicate(f"{path}[{place}]", shown(value[place])) for place in _repeated(value)]
        elif node.list_type == "map":
            errors += _check_keyed(node, value, path)
        if node.items is not None:
            for place, item in enumerate(value):
                errors += check(node.items, item, f"{path}[{place}]")
        return errors
    if value.__class__ is dict:
        errors = []
        for name, item in value.items():
            if item.__class__ is not dict and item.__class__ is not list:
                continue
            if node.additional is not None:
                errors += check(node.additional, item, f"{path}[{name}]")
            if (child := node.child(name)) is not None:
                errors += check(child, item, f"{path}.{name}" if path else name)
        return errors
    return []


def _identity(item: Any) -> Hashable:
    """What makes two items the same; numbers and truth values are told apart."""
    if item.__class__ is dict or item.__class__ is list:
        return orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    return (item.__class__, item)


def _repeated(items: list[Any]) -> list[int]:
    """Places of the second appearance of each item."""
    seen: dict[Hashable, int] = {}
    places: list[int] = []
    for place, item in enumerate(items):
        identity = _identity(item)
        times = seen.get(identity, 0)
        seen[identity] = times + 1
        if times == 1:
            places.append(place)
    return places


def _check_keyed(node: Node, items: list[Any], path: str) -> list[FieldError]:
    for place, item in enumerate(items):
        if item is not None and item.__class__ is not dict:
            text = "must be an object for an array of list-type map"
            return [fielderror.invalid(f"{path}[{place}]", shown(item), text)]
    names = node.map_keys
    keys: list[dict[str, Any]] = [
        {name: item[name] for name in names if name in item} if item else {} for item in items
    ]
    # With one key Kubernetes compares its values, with several the whole of them: what is shown is the same.
    return [fielderror.duplicate(f"{path}[{place}]", shown(keys[place])) for place in _repeated(keys)]
