"""Which old value a new value stands for, so that what did not change is not refused anew (ratcheting)."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery.schema.node import Node

_ABSENT: Final = object()


class Correlated:
    """A pair of new and old value under one schema; children are paired by field name or list-map key."""

    __slots__ = ("_by_key", "_equal", "_pairs", "new", "node", "old")

    def __init__(self, new: Any, old: Any, node: Node) -> None:
        self.new = new
        self.old = old
        self.node = node
        self._pairs: dict[str | int, Correlated | None] = {}
        self._by_key: dict[Any, Any] | None = None
        self._equal: bool | None = None

    def key(self, name: str) -> Correlated | None:
        """The pair of one field, or None where there is no old value or no schema for it."""
        if name in self._pairs:
            return self._pairs[name]
        pair = None
        if self.old.__class__ is dict and self.new.__class__ is dict:
            new, old = self.new.get(name, _ABSENT), self.old.get(name, _ABSENT)
            node = self.node.field(name)
            if node is not None and new is not _ABSENT and old is not _ABSENT:
                pair = Correlated(new, old, node)
        self._pairs[name] = pair
        return pair

    def index(self, place: int) -> Correlated | None:
        """The pair of one item; only items of a list with keys have an old self."""
        if place in self._pairs:
            return self._pairs[place]
        pair = None
        items = self.node.items
        if self.node.list_type == "map" and items is not None:
            old = self._old_item(place)
            if old is not None:
                pair = Correlated(self.new[place], old, items)
        self._pairs[place] = pair
        return pair

    def _old_item(self, place: int) -> Any:
        if self.old.__class__ is not list or self.new.__class__ is not list:
            return None
        return keyed_items(self.node, self.old).get(list_key(self.node, self.new[place]))

    def equal(self) -> bool:
        """Whether nothing changed, order of keyed lists aside."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if new.__class__ is dict and old.__class__ is dict:
            if len(new) != len(old):
                return False
            return all((pair := self.key(name)) is not None and pair.equal() for name in new)
        if new.__class__ is list and old.__class__ is list and self.node.list_type == "map":
            if len(new) != len(old):
                return False
            return all((pair := self.index(place)) is not None and pair.equal() for place in range(len(new)))
        return same(new, old)


def same(one: Any, other: Any) -> bool:
    """Deep equality that tells 1 from 1.0 and from true."""
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is dict:
        return len(one) == len(other) and all(
            (found := other.get(key, _ABSENT)) is not _ABSENT and same(value, found) for key, value in one.items()
        )
    if one.__class__ is list:
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def list_key(node: Node, item: Any) -> tuple[Any, ...] | None:
    """What tells an item of a keyed list from the others; None when a key is missing or no scalar."""
    if item.__class__ is not dict:
        return None
    values: list[Any] = [item.get(name, _ABSENT) for name in node.map_keys]
    if not values or any(value is _ABSENT or not isinstance(value, bool | int | float | str) for value in values):
        return None
    return tuple((value.__class__, value) for value in values)


def keyed_items(node: Node, items: list[Any]) -> dict[tuple[Any, ...] | None, Any]:
    """Items of a keyed list by key, the first of each."""
    found: dict[tuple[Any, ...] | None, Any] = {}
    for item in items:
        key = list_key(node, item)
        if key is not None:
            found.setdefault(key, item)
    return found
