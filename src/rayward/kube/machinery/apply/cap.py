"""The limit on how many updaters an object remembers."""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kube.machinery.apply.conflict import identifier
from rayward.kube.machinery.apply.fieldset import union
from rayward.kube.machinery.apply.owners import UPDATE, Owner, OwnerKey, owner_key

MAX_UPDATERS: Final = 10
BUCKET: Final = "ancient-changes"


def capped(owners: dict[OwnerKey, Owner]) -> dict[OwnerKey, Owner]:
    """The owners, with the oldest updaters of a version folded into one if there are too many."""
    updaters = [key for key, owner in owners.items() if owner.operation == UPDATE]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return owners
    updaters.sort(key=lambda key: (owners[key].time or "", identifier(key)))
    left = dict(owners)
    first_of: dict[str, OwnerKey] = {}
    for key in updaters:
        if surplus <= 0:
            break
        owner = left[key]
        first = first_of.setdefault(owner.api_version, key)
        if first == key:
            continue
        bucket = owner_key(BUCKET, UPDATE, owner.api_version, "")
        older = left.pop(bucket if bucket in left and bucket != key else first)
        del left[key]
        left[bucket] = msgspec.structs.replace(
            older,
            manager=BUCKET,
            subresource="",
            time=owner.time,
            fields=union(owner.fields, older.fields),
        )
        surplus -= 1
    return left
