"""Sets of field paths, kept as the nested objects that FieldsV1 is.

A key is one path element in FieldsV1's own spelling (``f:name``, ``k:{"a":1}``, ``v:"x"``, ``i:0``). A child ``{}`` is
a member of the set without anything below it; a child with ``"."`` is a member that also has members below; any other
child is only on the way to members. The root is never a member, so the empty set is ``{}``.

Sets are values: nothing here changes its arguments, and results share whatever did not change. Equal sets are equal
dicts, because every path has one spelling (see ``element``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FieldSet: TypeAlias = "dict[str, FieldSet]"

SELF: Final = "."
"""Says that the node which holds it is a member itself."""

LEAF: Final[FieldSet] = {}
"""The node of a member with nothing below it; shared everywhere, never changed."""

NOTHING: Final[FieldSet] = {}
"""The empty set."""


def set_of(*paths: Sequence[str]) -> FieldSet:
    """The set of these paths, each a sequence of path elements."""
    root: FieldSet = {}
    for path in paths:
        node = root
        for step in path[:-1]:
            child = node.get(step)
            if child is None:
                child = {}
            elif not child:
                child = {SELF: LEAF}
            node[step] = child
            node = child
        existing = node.get(path[-1])
        node[path[-1]] = as_member(existing)
    return root


def as_member(node: FieldSet | None) -> FieldSet:
    """This node, made a member."""
    if not node:
        return LEAF
    return node if SELF in node else {SELF: LEAF, **node}


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """Every path of either set."""
    if not a or a is b:
        return b
    return _union(a, b) if b else a


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """Every path that both sets hold."""
    return (_intersection(a, b) or NOTHING) if a and b else NOTHING


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """Every path of ``a`` that ``b`` does not hold; a path stays when only one above it is in ``b``."""
    return (_difference(a, b) or NOTHING) if a and b else a


def exclude(a: FieldSet, b: FieldSet) -> FieldSet:
    """Every path of ``a`` that is neither in ``b`` nor below a path of ``b``."""
    return (_exclude(a, b) or NOTHING) if a and b else a


def covers(a: FieldSet, b: FieldSet) -> bool:
    """Whether ``a`` holds every path of ``b``."""
    return not b or a is b or (bool(a) and _covers(a, b))


def holds(a: FieldSet, path: Sequence[str]) -> bool:
    """Whether this one path is in the set."""
    node = a
    for step in path:
        child = node.get(step)
        if child is None:
            return False
        node = child
    return not node or SELF in node


def paths(a: FieldSet, order: Callable[[str], Any]) -> Iterator[tuple[str, ...]]:
    """All paths, the steps of a node ordered by ``order``, a node's own members before anything below them."""
    return _paths(a, (), order)


def _paths(a: FieldSet, before: tuple[str, ...], order: Callable[[str], Any]) -> Iterator[tuple[str, ...]]:
    steps = sorted((step for step in a if step != SELF), key=order)
    for step in steps:
        node = a[step]
        if not node or SELF in node:
            yield (*before, step)
    for step in steps:
        if a[step]:
            yield from _paths(a[step], (*before, step), order)


def _union(a: FieldSet, b: FieldSet) -> FieldSet:
    if not a:
        return as_member(b)
    if not b:
        return as_member(a)
    out: FieldSet | None = None
    for step, theirs in b.items():
        ours = a.get(step)
        if ours is None:
            merged = theirs
        elif ours is theirs:
            continue
        else:
            merged = _union(ours, theirs)
            if merged is ours:
                continue
        if out is None:
            out = dict(a)
        out[step] = merged
    return a if out is None else out


def _intersection(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if a is b:
        return a
    if not a:
        return LEAF if not b or SELF in b else None
    if not b:
        return LEAF if SELF in a else None
    out: FieldSet = {}
    few, many = (a, b) if len(a) <= len(b) else (b, a)
    for step, node in few.items():
        other = many.get(step)
        if other is not None:
            both = _intersection(node, other)
            if both is not None:
                out[step] = both
    return _tidy(out)


def _difference(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if a is b:
        return None
    if not a:
        return None if not b or SELF in b else a
    if not b:
        if SELF not in a:
            return a
        return {step: node for step, node in a.items() if step != SELF}
    out: FieldSet | None = None
    for step in b if len(b) <= len(a) else a:
        ours = a.get(step)
        theirs = b.get(step)
        if ours is None or theirs is None:
            continue
        left = _difference(ours, theirs)
        if left is ours:
            continue
        if out is None:
            out = dict(a)
        if left is None:
            del out[step]
        else:
            out[step] = left
    return a if out is None else _tidy(out)


def _exclude(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if not b or SELF in b:
        return None
    if not a:
        return a
    out: FieldSet | None = None
    for step, theirs in b.items():
        ours = a.get(step)
        if ours is None:
            continue
        left = _exclude(ours, theirs)
        if left is ours:
            continue
        if out is None:
            out = dict(a)
        if left is None:
            del out[step]
        else:
            out[step] = left
    return a if out is None else _tidy(out)


def _covers(a: FieldSet, b: FieldSet) -> bool:
    if a is b:
        return True
    if not b:
        return not a or SELF in a
    for step, theirs in b.items():
        ours = a.get(step)
        if ours is None or not _covers(ours, theirs):
            return False
    return True


def _tidy(node: FieldSet) -> FieldSet | None:
    if not node:
        return None
    return LEAF if len(node) == 1 and SELF in node else node
