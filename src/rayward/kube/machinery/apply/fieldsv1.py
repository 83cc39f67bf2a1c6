"""FieldsV1, as it arrives in ``metadata.managedFields``, read into a set."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery.apply.element import BadElementError, canonical
from rayward.kube.machinery.apply.fieldset import LEAF, NOTHING, SELF, FieldSet
from rayward.kube.machinery.apply.values import OBJECT

MAX_DEPTH: Final = 256


class BadFieldsError(ValueError):
    """A value that is no FieldsV1."""


def decoded(fields: Any) -> FieldSet:
    """The set that FieldsV1 describes; the same object where it is spelled canonically.

    Elements of kinds that are not known here are left out.

    Raises:
        BadFieldsError: this is no FieldsV1.
    """
    if fields is None:
        return NOTHING
    found = _node(fields, 0)
    if SELF in found:
        found = {step: node for step, node in found.items() if step != SELF}
    return found or NOTHING


def _node(node: Any, depth: int) -> FieldSet:
    if type(node) is not OBJECT or depth > MAX_DEPTH:
        raise BadFieldsError("expected nested objects")
    kept: FieldSet = node
    for step, child in node.items():
        spelled = _spelled(step)
        below: FieldSet = child
        if child or type(child) is not OBJECT:
            below = LEAF if spelled is None or step == SELF else _node(child, depth + 1)
        if below is child and spelled == step:
            continue
        if kept is node:
            kept = dict(node)
        del kept[step]
        if spelled is not None:
            kept[spelled] = below
    return LEAF if len(kept) == 1 and SELF in kept else kept


def _spelled(step: str) -> str | None:
    if step.startswith("f:") or step == SELF:
        return step
    try:
        return canonical(step)
    except BadElementError as error:
        raise BadFieldsError(f"no path element: {error}") from error
