"""Sets of fields grown by the declared fields that lead to them."""

from __future__ import annotations

from rayward.kube.machinery.apply.fieldset import LEAF, SELF, FieldSet
from rayward.kube.machinery.apply.types import Either, List, Map, Type


def named(fields: FieldSet, of: Type | None) -> FieldSet:
    """The set, and every declared field on the way to one of its paths; not map keys, not list items."""
    objects, items = (of.map, of.list) if type(of) is Either else (of, of)
    if type(objects) is not Map and type(items) is not List:
        return fields
    out: FieldSet = {}
    for step, node in fields.items():
        if not node:
            out[step] = node
        elif step.startswith("f:") and type(objects) is Map:
            field = objects.fields.get(step[2:])
            if field is None:
                out[step] = named(node, objects.element)
            else:
                below = named(node, field.type)
                out[step] = below if SELF in below else {SELF: LEAF, **below}
        elif step.startswith("k:") and type(items) is List:
            out[step] = named(node, items.element)
        else:
            out[step] = node
    return out
