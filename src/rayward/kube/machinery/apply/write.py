"""What an update and an apply have in common: who writes what, and what follows for all owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from rayward.kube.machinery.apply.cap import capped
from rayward.kube.machinery.apply.changes import Changes
from rayward.kube.machinery.apply.fieldset import FieldSet, difference, exclude, set_of, union
from rayward.kube.machinery.apply.owners import Owner, OwnerKey, Owners, encode
from rayward.kube.machinery.apply.reconcile import fitted
from rayward.kube.machinery.apply.updater import yielded
from rayward.kube.machinery.apply.values import Object, metadata_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rayward.kube.machinery.apply.types import Map

RESET_STATUS: Final[FieldSet] = set_of(("f:status",))
"""What the main endpoint of a kind with a status subresource leaves alone."""

RESET_SPEC: Final[FieldSet] = set_of(("f:spec",))
"""What the status endpoint of most built-in kinds leaves alone."""

RESET_ALL_BUT_STATUS: Final[FieldSet] = set_of(("f:metadata",), ("f:spec",))
"""What the status endpoint of a custom kind leaves alone."""

_SERVERS_OWN: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
NEVER_OWNED: Final[FieldSet] = set_of(
    ("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", "f:" + name) for name in _SERVERS_OWN)
)
"""Fields that belong to no manager."""


class Write(msgspec.Struct, frozen=True):
    """One write: the type of the object, who writes, when, and what the endpoint leaves alone."""

    of: Map
    me: OwnerKey
    now: str
    reset: FieldSet


def fitting(owners: Owners, of: Map) -> Mapping[OwnerKey, Owner]:
    """The owners, their fields made to fit the type."""
    if owners.fitted_to is of:
        return owners.by_key
    return {key: owning(owner, fitted(owner.fields, of)) for key, owner in owners.by_key.items()}


def updated(owners: Mapping[OwnerKey, Owner], changes: Changes, write: Write, api_version: str) -> Owners:
    """The owners after these changes, which the writer now owns."""
    if write.reset:
        changes = Changes(exclude(changes.changed, write.reset), exclude(changes.removed, write.reset))
    left = yielded({key: owner.fields for key, owner in owners.items()}, changes, None)
    after = {key: owning(owners[key], fields) for key, fields in left.items()}
    mine = difference(changes.changed, NEVER_OWNED)
    if mine:
        last = after.get(write.me)
        fields = union(mine, last.fields) if last else mine
        manager, operation, _, subresource = write.me
        after[write.me] = Owner(manager, operation, api_version, subresource, write.now, fields)
        after = capped(after)
    return Owners(after, write.of)


def owning(owner: Owner, fields: FieldSet) -> Owner:
    """The owner, with these fields."""
    return owner if fields is owner.fields else msgspec.structs.replace(owner, fields=fields)


def with_owners(obj: Object, owners: Owners) -> Object:
    """The object, its managed fields saying who these owners are."""
    metadata = metadata_of(obj)
    if len(owners):
        return {**obj, "metadata": {**metadata, "managedFields": encode(owners)}}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
