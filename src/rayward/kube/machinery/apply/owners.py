"""Owners: the decoded ``metadata.managedFields`` of an object."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from rayward.kube.machinery.apply.fieldset import FieldSet
from rayward.kube.machinery.apply.fieldsv1 import BadFieldsError, decoded
from rayward.kube.machinery.apply.values import ARRAY, OBJECT, TEXT, Object, metadata_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rayward.kube.machinery.apply.types import Type

OwnerKey: TypeAlias = tuple[str, str, str, str]

APPLY: Final = "Apply"
UPDATE: Final = "Update"


class Owner(msgspec.Struct, frozen=True):
    """Who owns which fields, through which kind of request, and since when."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str | None
    fields: FieldSet

    @property
    def key(self) -> OwnerKey:
        """What tells this owner from others; an applier stays the same one when it changes its API version."""
        return owner_key(self.manager, self.operation, self.api_version, self.subresource)


def owner_key(manager: str, operation: str, api_version: str, subresource: str) -> OwnerKey:
    """What tells an owner from others."""
    return manager, operation, "" if operation == APPLY else api_version, subresource


class Owners:
    """All owners of one object. Immutable, so it can be kept beside the object and decoded only once."""

    __slots__ = ("_by_key", "fitted_to")

    def __init__(self, by_key: Mapping[OwnerKey, Owner], fitted_to: Type | None = None) -> None:
        self._by_key = by_key
        self.fitted_to: Final = fitted_to
        """The type whose schema these fields are known to fit."""

    def __iter__(self) -> Iterator[Owner]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Owners) and self._by_key == other._by_key

    def __repr__(self) -> str:
        return f"Owners({list(self)})"

    @property
    def by_key(self) -> Mapping[OwnerKey, Owner]:
        """The owners by what tells them apart; not to be changed."""
        return self._by_key


NOBODY: Final = Owners({})


def owners_of(obj: Object | None) -> Owners:
    """The owners of an object; nobody, if its managed fields can not be read."""
    entries = managed_fields(obj)
    if not entries:
        return NOBODY
    try:
        return _decoded(entries)
    except (BadFieldsError, RecursionError):
        return NOBODY


def readable_owners_of(obj: Object) -> Owners | None:
    """The owners of an object, or None if its managed fields can not be read."""
    try:
        return _decoded(managed_fields(obj) or [])
    except (BadFieldsError, RecursionError):
        return None


def managed_fields(obj: Object | None) -> list[Any] | None:
    """``metadata.managedFields`` as it is; None if there is none."""
    found = metadata_of(obj).get("managedFields")
    return found if type(found) is ARRAY else None


def encode(owners: Owners) -> list[Object]:
    """``metadata.managedFields``, in Kubernetes' order."""
    entries = list(owners)
    if len(entries) > 1:
        entries.sort(key=_order)
    return [_entry(owner) for owner in entries]


def _order(owner: Owner) -> tuple[str, str, str, str, str]:
    return owner.operation, owner.time or "", owner.manager, owner.api_version, owner.subresource


def _entry(owner: Owner) -> Object:
    entry: Object = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "time": owner.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": owner.fields,
        "subresource": owner.subresource,
    }
    if not owner.subresource:
        del entry["subresource"]
    if owner.time is None:
        del entry["time"]
    if not owner.manager:
        del entry["manager"]
    return entry


def _decoded(entries: list[Any]) -> Owners:
    by_key: dict[OwnerKey, Owner] = {}
    for entry in entries:
        if type(entry) is not OBJECT:
            raise BadFieldsError("expected an object")
        manager, operation, api_version, subresource = (
            entry.get(name) or "" for name in ("manager", "operation", "apiVersion", "subresource")
        )
        if not (type(manager) is type(api_version) is type(subresource) is TEXT):
            raise BadFieldsError("expected texts")
        if operation not in (APPLY, UPDATE) or not api_version or entry.get("fieldsType") != "FieldsV1":
            raise BadFieldsError("operation, apiVersion and fieldsType must be set")
        owner = Owner(
            manager, operation, api_version, subresource, _time(entry.get("time")), decoded(entry.get("fieldsV1"))
        )
        by_key[owner.key] = owner
    return Owners(by_key)


def _time(found: Any) -> str | None:
    """A time as Kubernetes writes it: whole seconds, UTC; so that times sort as texts."""
    if found is None or (isinstance(found, str) and len(found) == 20 and found[10] == "T" and found[19] == "Z"):
        return found
    try:
        return datetime.fromisoformat(found).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError, OverflowError) as error:
        raise BadFieldsError("time must be RFC 3339") from error
