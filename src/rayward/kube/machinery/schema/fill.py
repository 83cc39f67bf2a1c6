"""Defaults, and nulls that mean "not set"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery.schema.node import Node

Fill = Callable[[Any], None]

_FILL: Final = "fill"


def filler(node: Node) -> Fill:
    """A function that sets defaults below an object or list, in place.

    A null where the schema allows none is replaced by the default, or dropped where there is no default.
    """
    fill: Fill | None = node.memo.get(_FILL)
    if fill is None:
        # A schema may contain itself: what is being made is already a function that can be called.
        made: list[Fill] = []

        def later(value: Any) -> None:
            made[0](value)

        node.memo[_FILL] = later
        fill = node.memo[_FILL] = _make(node)
        made.append(fill)
    return fill


def copy(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if value.__class__ is dict:
        return {name: copy(item) for name, item in value.items()}
    if value.__class__ is list:
        return [copy(item) for item in value]
    return value


def _nothing(_: Any) -> None:
    return None


class _Fillers(dict[str, Fill]):
    """Fillers of the containers in declared fields, made on first use."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    def __missing__(self, name: str) -> Fill:
        child = self._node.field(name)
        if child is None:
            return _nothing
        if name not in self._node.properties:
            return filler(child)
        fill = self[name] = filler(child)
        return fill


def _make(node: Node) -> Fill:
    if node.additional is not None and not node.properties:
        return _fill_values(node, node.additional)
    return _fill_fields(node)


def _fill_fields(node: Node) -> Fill:
    defaults = [(name, raw["default"]) for name, raw in node.properties.items() if raw.get("default") is not None]
    plain = all(default.__class__ is not dict and default.__class__ is not list for _, default in defaults)
    fillers = _Fillers(node)
    fill_items = _fill_items(node)

    def fill(value: Any) -> None:
        if value.__class__ is list:
            fill_items(value)
            return
        for name, default in defaults:
            if name not in value:
                value[name] = default if plain else copy(default)
        nulls = False
        for name, item in value.items():
            kind = item.__class__
            if kind is str:
                continue
            if kind is dict or kind is list:
                fillers[name](item)
            elif item is None:
                nulls = True
        if nulls:
            _settle_nulls(node, value)

    return fill


def _fill_values(node: Node, additional: Node) -> Fill:
    fill_items = _fill_items(node)
    made: list[Fill] = []

    def fill(value: Any) -> None:
        if value.__class__ is list:
            fill_items(value)
            return
        nulls = False
        for item in value.values():
            kind = item.__class__
            if kind is str:
                continue
            if kind is dict or kind is list:
                if not made:
                    made.append(filler(additional))
                made[0](item)
            elif item is None:
                nulls = True
        if nulls:
            _settle_nulls(node, value)

    return fill


def _settle_nulls(node: Node, value: dict[str, Any]) -> None:
    for name in [name for name, item in value.items() if item is None]:
        child = node.field(name)
        if child is None or child.nullable:
            continue
        if child.default is None:
            del value[name]
        else:
            value[name] = copy(child.default)
            if value[name].__class__ is dict or value[name].__class__ is list:
                filler(child)(value[name])


def _fill_items(node: Node) -> Fill:
    made: list[Fill] = []

    def fill(value: list[Any]) -> None:
        items = node.items
        if items is None:
            return
        if not made:
            made.append(filler(items))
        inner = made[0]
        for place, item in enumerate(value):
            kind = item.__class__
            if kind is dict or kind is list:
                inner(item)
            elif item is None and not items.nullable and items.default is not None:
                value[place] = copy(items.default)
                if value[place].__class__ is dict or value[place].__class__ is list:
                    inner(value[place])

    return fill
