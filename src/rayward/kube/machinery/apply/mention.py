"""Which fields a configuration mentions: what its applier owns."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply.element import INVALID
from rayward.kube.machinery.apply.fieldset import LEAF, SELF, FieldSet
from rayward.kube.machinery.apply.types import DEDUCED, Either, ItemError, List, Map, Scalar, Type
from rayward.kube.machinery.apply.values import ARRAY, OBJECT


def mentioned(value: Any, of: Type) -> FieldSet:
    """Every field and item that the object mentions.

    Unlike what a change adds, an object that only leads to fields is not mentioned itself, unless it is an item of a
    list, the value of an undeclared key, or empty.
    """
    return _grown({}, value, of, leads=False)


def present(value: Any, of: Type) -> FieldSet:
    """Every field and item that the object mentions, and every declared field that leads to one."""
    return _grown({}, value, of, leads=True)


def _grown(node: FieldSet, value: Any, of: Type, *, leads: bool) -> FieldSet:
    """The node, grown by what the value mentions; or a leaf in its place."""
    if type(of) is Either:
        of = of.of(value)
    if type(of) is Scalar or of.atomic:
        return LEAF
    if type(of) is Map:
        if type(value) is OBJECT:
            _mention_fields(value, of, node, leads=leads)
    elif type(value) is ARRAY:
        _mention_items(value, of, node, leads=leads)
    return node


def _member(value: Any, of: Type, *, leads: bool) -> FieldSet:
    node = _grown({SELF: LEAF}, value, of, leads=leads)
    return node if len(node) > 1 else LEAF


def _mention_fields(value: dict[str, Any], of: Map, node: FieldSet, *, leads: bool) -> None:
    fields, other = of.fields, of.element or DEDUCED
    for name, inner in value.items():
        field = fields.get(name)
        if field is None:
            node["f:" + name] = LEAF if type(other) is Scalar else _member(inner, other, leads=leads)
        elif type(field[1]) is Scalar or inner is None or inner == {}:
            node[field[0]] = LEAF
        else:
            below: FieldSet = {SELF: LEAF} if leads else {}
            start = len(below)
            found = _grown(below, inner, field[1], leads=leads)
            # What has not grown leads to nothing and is not mentioned.
            if found is not below or len(below) > start:
                node[field[0]] = found


def _mention_items(value: list[Any], of: List, node: FieldSet, *, leads: bool) -> None:
    inner = of.element
    for item in value:
        try:
            step = of.key(item)
        except ItemError:
            step = INVALID
        # Items that repeat a key are mentioned together, as one.
        node[step] = LEAF if step in node else _member(item, inner, leads=leads)
