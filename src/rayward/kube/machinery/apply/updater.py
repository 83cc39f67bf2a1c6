"""Who owns what after an update or an apply. Owners are any keys; what they mean is the caller's affair."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from rayward.kube.machinery.apply.changes import compare
from rayward.kube.machinery.apply.fieldset import NOTHING, FieldSet, covers, difference, exclude, intersection, union
from rayward.kube.machinery.apply.mention import mentioned, present
from rayward.kube.machinery.apply.merging import merge
from rayward.kube.machinery.apply.naming import named
from rayward.kube.machinery.apply.removal import remove
from rayward.kube.machinery.apply.values import same

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from rayward.kube.machinery.apply.changes import Changes
    from rayward.kube.machinery.apply.types import Type

Key = TypeVar("Key", bound="Hashable")


class ConflictError(Exception):
    """An apply that would change fields of others: ``fields`` says whose and which."""

    def __init__(self, fields: dict[Any, FieldSet]) -> None:
        super().__init__(fields)
        self.fields = fields


def update(
    live: Any, new: Any, of: Type, owners: Mapping[Key, FieldSet], me: Key, reset: FieldSet = NOTHING
) -> dict[Key, FieldSet]:
    """The owners after ``me`` replaced the live object by a new one; it takes whatever it changes.

    Raises:
        ItemError: a keyed list holds an item without a key.
    """
    changes = _changes(live, new, of, reset)
    left = yielded(owners, changes, me)
    mine = exclude(union(difference(left.pop(me, NOTHING), changes.removed), changes.changed), reset)
    if mine:
        left[me] = mine
    return left


def apply(
    live: Any,
    config: Any,
    of: Type,
    owners: Mapping[Key, FieldSet],
    me: Key,
    *,
    force: bool = False,
    reset: FieldSet = NOTHING,
) -> tuple[Any, dict[Key, FieldSet]]:
    """The object and its owners after ``me`` applied a configuration; the live object itself if nothing changed.

    Raises:
        ConflictError: others own fields that would change, and ``force`` is off.
        ItemError: a keyed list holds an item without a key.
    """
    new = merge(live, config, of)
    last = owners.get(me, NOTHING)
    mine = exclude(mentioned(config, of), reset)
    after = {**owners, me: mine}
    if not covers(mine, last):
        new = _pruned(new, of, last, after)
    changes = _changes(live, new, of, reset)
    if not force:
        clashes = {
            owner: clash
            for owner, fields in owners.items()
            if owner != me and (clash := intersection(fields, changes.changed))
        }
        if clashes:
            raise ConflictError(clashes)
    return (live if same(live, new) else new), yielded(after, changes, me)


def yielded(owners: Mapping[Key, FieldSet], changes: Changes, me: Key | None) -> dict[Key, FieldSet]:
    """The owners without the fields that ``me`` changed or removed, and without those who own nothing then."""
    changed, removed = changes
    out: dict[Key, FieldSet] = {}
    for owner, fields in owners.items():
        kept = fields if owner == me else difference(difference(fields, changed), removed)
        if kept:
            out[owner] = kept
    return out


def _changes(live: Any, new: Any, of: Type, reset: FieldSet) -> Changes:
    changes = compare(live, new, of)
    return changes._replace(changed=exclude(changes.changed, reset), removed=exclude(changes.removed, reset))


def _pruned(merged: Any, of: Type, last: FieldSet, owners: Mapping[Any, FieldSet]) -> Any:
    """The merged object without what its applier owned before and nobody owns any more."""
    before = named(last, of)
    there = present(merged, of)
    kept = remove(merged, before, of)
    owned = named(reduce(union, owners.values(), NOTHING), of)
    kept = remove(merged, difference(there, union(present(kept, of), owned)), of)
    return remove(merged, intersection(difference(there, present(kept, of)), before), of)
