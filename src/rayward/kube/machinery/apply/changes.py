"""What differs between two objects: the fields that came or changed, and the fields that went."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from rayward.kube.machinery.apply.fieldset import LEAF, NOTHING, SELF, FieldSet, as_member
from rayward.kube.machinery.apply.types import DEDUCED, Either, List, Map, Scalar, Type
from rayward.kube.machinery.apply.values import ABSENT, ARRAY, OBJECT, Object, same


class Changes(NamedTuple):
    """``changed`` holds fields that are new or have a new value, ``removed`` those that are gone."""

    changed: FieldSet
    removed: FieldSet


_Node: TypeAlias = "FieldSet | None"
_Pair: TypeAlias = "tuple[_Node, _Node]"
_SAME: Final[_Pair] = (None, None)
_NO_FIELDS: Final[Object] = {}


def compare(old: Any, new: Any, of: Type) -> Changes:
    """The changes from one object to the next.

    Raises:
        ItemError: a keyed list holds an item without a key.
    """
    changed, removed = _compare(old, new, of)
    return Changes(_root(changed), _root(removed))


def everything(value: Any, of: Type) -> FieldSet:
    """The node of a value that is new as a whole: it and all there is in it."""
    if type(of) is Either:
        of = of.of(value)
    if type(of) is Map:
        if of.atomic or not value or type(value) is not OBJECT:
            return LEAF
        node: FieldSet = {SELF: LEAF}
        fields, other = of.fields, of.element or DEDUCED
        for name, inner in value.items():
            field = fields.get(name)
            if field is None:
                node["f:" + name] = LEAF if type(other) is Scalar else everything(inner, other)
            elif type(field[1]) is Scalar:
                node[field[0]] = LEAF
            else:
                node[field[0]] = everything(inner, field[1])
        return node
    if type(of) is List and not of.atomic and value and type(value) is ARRAY:
        node = {SELF: LEAF}
        key, inner_type = of.key, of.element
        for item in value:
            step = key(item)
            # Items that repeat a key are owned together, as one.
            node[step] = LEAF if step in node else everything(item, inner_type)
        return node
    return LEAF


def _root(node: _Node) -> FieldSet:
    if not node:
        return NOTHING
    if SELF in node:
        node = dict(node)
        del node[SELF]
    return node


def _compare(old: Any, new: Any, of: Type) -> _Pair:
    if old is new:
        return _SAME
    if old is ABSENT:
        return everything(new, of), None
    if new is ABSENT:
        return None, everything(old, of)
    if type(of) is Either:
        before, after = of.of(old), of.of(new)
        if before is not after:
            return _both(_compare(old, new, before), _compare(old, new, after))
        of = after
    if type(of) is Map and not of.atomic:
        olds: Any = old if type(old) is OBJECT else _NO_FIELDS
        news: Any = new if type(new) is OBJECT else _NO_FIELDS
        if olds or news:
            return _compare_maps(olds, news, of)
    elif type(of) is List and not of.atomic:
        olds, news = old if type(old) is ARRAY else (), new if type(new) is ARRAY else ()
        if olds or news:
            return _compare_lists(olds, news, of)
    return _SAME if same(old, new) else (LEAF, None)


def _both(a: _Pair, b: _Pair) -> _Pair:
    return _either(a[0], b[0]), _either(a[1], b[1])


def _either(a: _Node, b: _Node) -> _Node:
    if a is None or b is None:
        return b if a is None else a
    # At most one shape has parts in the new value, and at most one in the old.
    return as_member(a or b)


def _compare_maps(olds: dict[str, Any], news: dict[str, Any], of: Map) -> _Pair:
    changed: FieldSet = {}
    removed: FieldSet = {}
    fields, other = of.fields, of.element or DEDUCED
    common = 0
    for name, new in news.items():
        old = olds.get(name, ABSENT)
        if old is new:
            common += 1
            continue
        field = fields.get(name)
        if field is None:
            step, inner = "f:" + name, other
        else:
            step, inner, _ = field
        if old is ABSENT:
            changed[step] = LEAF if type(inner) is Scalar else everything(new, inner)
            continue
        common += 1
        if type(inner) is Scalar:
            if old != new or (type(old) is not type(new) and not same(old, new)):
                changed[step] = LEAF
            continue
        came, went = _compare(old, new, inner)
        if came is not None:
            changed[step] = came
        if went is not None:
            removed[step] = went
    if common < len(olds):
        for name, old in olds.items():
            if name not in news:
                field = fields.get(name)
                if field is None:
                    removed["f:" + name] = everything(old, other)
                else:
                    removed[field[0]] = everything(old, field[1])
    return changed or None, removed or None


def _compare_lists(olds: Any, news: Any, of: List) -> _Pair:
    if len(olds) == len(news) and same(olds, news):
        return _SAME
    changed: FieldSet = {}
    removed: FieldSet = {}
    before, after = _by_key(olds, of), _by_key(news, of)
    inner = of.element
    for step, found in after.items():
        if type(found) is _Repeated:
            had = before.get(step, ABSENT)
            if type(had) is _Repeated:
                if not same(list(had), list(found)):
                    changed[step] = LEAF
            else:
                changed[step] = LEAF
                if had is not ABSENT:
                    removed[step] = everything(had, inner)
            continue
        had = before.get(step, ABSENT)
        if type(had) is _Repeated:
            changed[step] = everything(found, inner)
            removed[step] = LEAF
            continue
        came, went = _compare(had, found, inner)
        if came is not None:
            changed[step] = came
        if went is not None:
            removed[step] = went
    for step, had in before.items():
        if step not in after:
            removed[step] = LEAF if type(had) is _Repeated else everything(had, inner)
    return changed or None, removed or None


class _Repeated(list[Any]):
    """Items that share one key."""


def _by_key(items: Any, of: List) -> dict[str, Any]:
    found: dict[str, Any] = {}
    key = of.key
    for item in items:
        step = key(item)
        if step in found:
            earlier = found[step]
            if type(earlier) is _Repeated:
                earlier.append(item)
            else:
                found[step] = _Repeated((earlier, item))
        else:
            found[step] = item
    return found
