"""Sets of fields that were written under an earlier schema, made to fit the present one."""

from __future__ import annotations

from rayward.kube.machinery.apply.fieldset import LEAF, FieldSet
from rayward.kube.machinery.apply.types import Either, List, Map, Type


def fitted(fields: FieldSet, of: Type) -> FieldSet:
    """The set, with whatever has become atomic since owned as a whole; the same set if nothing has."""
    if type(of) is Map and not of.atomic and not of.open:
        return _fit_fields(fields, of)
    return fields


def _fit(node: FieldSet, of: Type | None) -> FieldSet:
    if type(of) is Either:
        of = of.map
    if type(of) is Map:
        if of.open:
            return node
        return LEAF if of.atomic else _fit_fields(node, of)
    if type(of) is List:
        return LEAF if of.atomic else _fit_items(node, of.element)
    return node


def _fit_fields(node: FieldSet, of: Map) -> FieldSet:
    fields, other = of.fields, of.element
    out = node
    for step, child in node.items():
        if not child:
            continue
        field = fields.get(step[2:]) if step.startswith("f:") else None
        fit = _fit(child, other if field is None else field.type)
        if fit is not child:
            out = _put(out, node, step, fit)
    return out


def _fit_items(node: FieldSet, of: Type) -> FieldSet:
    out = node
    for step, child in node.items():
        if child:
            fit = _fit(child, of)
            if fit is not child:
                out = _put(out, node, step, fit)
    return out


def _put(out: FieldSet, node: FieldSet, step: str, child: FieldSet) -> FieldSet:
    if out is node:
        out = dict(node)
    out[step] = child
    return out
