"""Two edits of one value put together: what both changed and differently, the first one has."""

from __future__ import annotations

from typing import Any

from rayward.kinds.effects.differences import by_name, render
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object

_ABSENT: Any = object()


def merged(base: Any, ours: Any, theirs: Any) -> tuple[Any, tuple[str, ...]]:
    """``ours`` with what ``theirs`` changed of ``base``; and the paths of changes that found no place."""
    lost: list[tuple[str, ...]] = []
    return _merged(base, ours, theirs, at=(), lost=lost), tuple(map(render, lost))


def _merged(base: Any, ours: Any, theirs: Any, *, at: tuple[str, ...], lost: list[tuple[str, ...]]) -> Any:
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if is_object(base) and is_object(ours) and is_object(theirs):
        return _fields(base, ours, theirs, at, lost)
    if is_list(base) and is_list(ours) and is_list(theirs):
        before, one, other = by_name(base), by_name(ours), by_name(theirs)
        if before is not None and one is not None and other is not None:
            return list(_fields(before, one, other, at, lost, "[{}]").values())
    lost.append(at)
    return ours


def _fields(
    base: Object, ours: Object, theirs: Object, at: tuple[str, ...], lost: list[tuple[str, ...]], shown: str = "{}"
) -> Object:
    found: Object = {}
    for name in {**ours, **theirs}:
        versions = (one.get(name, _ABSENT) for one in (base, ours, theirs))
        value: Any = _merged(*versions, at=(*at, shown.format(name)), lost=lost)
        if value is not _ABSENT:
            found[name] = value
    return found
