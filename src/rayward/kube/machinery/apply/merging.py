"""An applied configuration laid over the live object. Nothing is ever removed here."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply.types import DEDUCED, Either, List, Map, Scalar, Type
from rayward.kube.machinery.apply.values import ABSENT, ARRAY, OBJECT, same


def merge(live: Any, applied: Any, of: Type) -> Any:
    """The live value with the applied one laid over it; the live value itself if that changes nothing.

    Raises:
        ItemError: a keyed list holds an item without a key.
    """
    if live is None or live is ABSENT or live is applied:
        return applied
    if type(of) is Either:
        of = of.of(applied)
    if type(of) is Map and not of.atomic:
        if type(live) is OBJECT and live:
            # Null over an object leaves the object, as an empty object does.
            return _merge_maps(live, applied, of) if type(applied) is OBJECT else live
        return applied
    if type(of) is List and not of.atomic:
        if type(live) is ARRAY and live:
            return _merge_lists(live, applied, of) if type(applied) is ARRAY and applied else live
        return applied
    return live if same(live, applied) else applied


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], of: Map) -> dict[str, Any]:
    fields, other = of.fields, of.element or DEDUCED
    out: dict[str, Any] | None = None
    for name, theirs in applied.items():
        ours = live.get(name, ABSENT)
        if ours is theirs:
            continue
        if ours is ABSENT:
            merged = theirs
        else:
            field = fields.get(name)
            inner = other if field is None else field[1]
            if type(inner) is Scalar and type(ours) is type(theirs) and ours == theirs:
                continue
            merged = merge(ours, theirs, inner)
            if merged is ours:
                continue
        if out is None:
            out = dict(live)
        out[name] = merged
    return live if out is None else out


def _merge_lists(live: list[Any], applied: list[Any], of: List) -> list[Any]:
    key, inner = of.key, of.element
    ours, theirs = [key(item) for item in live], [key(item) for item in applied]
    if ours == theirs:
        merged = [merge(a, b, inner) for a, b in zip(live, applied, strict=True)]
        return live if all(a is b for a, b in zip(live, merged, strict=True)) else merged
    by_key = dict(zip(theirs, applied, strict=True))
    ours_by_key: dict[str, Any] = {}
    for step, item in zip(ours, live, strict=True):
        # Items that share a key can not be merged with: the applied one replaces them.
        ours_by_key[step] = None if step in ours_by_key else item
    order = _ordered(ours, theirs)
    return [
        live[index] if index >= 0 else merge(ours_by_key.get(step, ABSENT), by_key[step], inner)
        for step, index in order
    ]


def _ordered(ours: list[str], theirs: list[str]) -> list[tuple[str, int]]:
    """The order of the merged items: like the live list, unless the applied list orders shared items otherwise.

    Each is (key, index in the live list), or (key, -1) for an item of the applied list.
    """
    in_ours, in_theirs = frozenset(ours), frozenset(theirs)
    shared = iter([step for step in theirs if step in in_ours])
    awaited = next(shared, None)
    out: list[tuple[str, int]] = []
    taken: set[str] = set()
    i = j = 0
    while i < len(ours) or j < len(theirs):
        if i < len(ours):
            step = ours[i]
            if j < len(theirs):
                if step == theirs[j]:
                    taken.add(step)
                    out.append((step, -1))
                    i, j = i + 1, j + 1
                    awaited = next(shared, None)
                    continue
                if step in in_theirs and awaited is not None and awaited != step:
                    i += 1
                    continue
            if step not in in_theirs:
                out.append((step, i))
                i += 1
                continue
            if step in taken:
                i += 1
        if j < len(theirs):
            step = theirs[j]
            taken.add(step)
            out.append((step, -1))
            j += 1
            if awaited == step:
                awaited = next(shared, None)
    return out
