"""An object without some of its fields and items."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply.element import INVALID
from rayward.kube.machinery.apply.fieldset import SELF, FieldSet
from rayward.kube.machinery.apply.types import DEDUCED, Either, ItemError, List, Map, Scalar, Type
from rayward.kube.machinery.apply.values import ARRAY, OBJECT


def remove(value: Any, gone: FieldSet, of: Type) -> Any:
    """The value without what ``gone`` names; null where nothing is left."""
    if type(of) is Either:
        of = of.of(value)
    if type(of) is Scalar:
        return value
    if not value or of.atomic:
        return None
    if type(of) is Map:
        return (_remove_fields(value, gone, of) or None) if type(value) is OBJECT else None
    return (_remove_items(value, gone, of) or None) if type(value) is ARRAY else None


def _remove_fields(value: dict[str, Any], gone: FieldSet, of: Map) -> dict[str, Any]:
    out = dict(value)
    for name, inner in value.items():
        node = gone.get("f:" + name)
        if node is None:
            continue
        if not node or SELF in node:
            del out[name]
        else:
            field = of.fields.get(name)
            out[name] = remove(inner, node, (of.element or DEDUCED) if field is None else field[1])
    return out


def _remove_items(value: list[Any], gone: FieldSet, of: List) -> list[Any]:
    out: list[Any] = []
    for item in value:
        try:
            node = gone.get(of.key(item))
        except ItemError:
            node = gone.get(INVALID)
        if node is None:
            out.append(item)
        elif node and SELF not in node:
            out.append(remove(item, node, of.element))
    return out
