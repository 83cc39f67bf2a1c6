"""JSON merge patch: RFC 7386 as kube-apiserver applies it."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.jsonvalue import Object, is_list, is_object
from rayward.kube.machinery.patch.error import PatchError, json_kind, too_deep


def apply(doc: Object, patch: Any) -> Object:
    """The document after the patch: null removes, objects merge, everything else replaces.

    Raises:
        PatchError: The patch is no object.
    """
    if patch is None:
        raise PatchError.bad_request("Invalid JSON Patch")
    if not is_object(patch):
        kind = json_kind(patch)
        text = f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        raise PatchError.bad_request(text)
    try:
        return _merged(doc, patch)
    except RecursionError:
        raise too_deep() from None


def _merged(current: Object, patch: Object) -> Object:
    merged = dict(current)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        before = merged.get(key)
        if not is_object(before):
            merged[key] = _without_nulls(value)
        elif is_object(value):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


def _without_nulls(value: Any) -> Any:
    """The value without null members, also inside lists, where Kubernetes goes further than the RFC."""
    if is_object(value):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if is_list(value):
        return [_without_nulls(item) for item in value]
    return value
