"""Managed fields of creates, updates and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayward.kube.machinery.apply.changes import compare
from rayward.kube.machinery.apply.fieldset import NOTHING, FieldSet
from rayward.kube.machinery.apply.owners import (
    NOBODY,
    UPDATE,
    Owners,
    managed_fields,
    owner_key,
    owners_of,
    readable_owners_of,
)
from rayward.kube.machinery.apply.types import ItemError
from rayward.kube.machinery.apply.values import OBJECT, Object, metadata_of
from rayward.kube.machinery.apply.write import Write, fitting, updated, with_owners

if TYPE_CHECKING:
    from rayward.kube.machinery.apply.types import Map


def track_update(
    live: Object | None,
    new: Object,
    *,
    type: Map,  # noqa: A002
    manager: str,
    api_version: str,
    now: str,
    subresource: str = "",
    reset: FieldSet = NOTHING,
    owners: Owners | None = None,
) -> tuple[Object, Owners]:
    """A created, updated or patched object with its managed fields, and who owns what in it then.

    Args:
        live: the object as it was; None if it is being created.
        new: the object as it is to be stored. Managed fields in it count as the client's wish.
        type: the type of its kind.
        manager: who writes; see ``manager_of``.
        api_version: the version that the request is written in.
        now: the time, as ``2026-01-31T23:59:59Z``.
        subresource: ``status``, ``scale`` or the like, if the request goes to one.
        reset: the fields that the endpoint leaves alone.
        owners: what ``owners_of(live)`` gives, if it is known.
    """
    before = _owners_before(live, new, subresource, owners)
    if not len(before) and live is not None and metadata_of(live).get("uid"):
        # An object that came into being untracked stays so until its first apply.
        return with_owners(new, NOBODY), NOBODY
    write = Write(type, owner_key(manager or "unknown", UPDATE, api_version, subresource), now, reset)
    try:
        changes = compare(type.zero if live is None else live, new, type)
        after = updated(fitting(before, type), changes, write, api_version)
    except (ItemError, RecursionError):
        # A write never fails for its managed fields; an object that can not be tracked has none.
        after = NOBODY
    return with_owners(new, after), after


def _owners_before(live: Object | None, new: Object, subresource: str, owners: Owners | None) -> Owners:
    wished = None if subresource else managed_fields(new)
    if wished is not None and _is_reset(wished):
        return NOBODY
    if wished and (live is None or wished != managed_fields(live)):
        found = readable_owners_of(new)
        if found:
            return found
    if live is None:
        return NOBODY
    return owners_of(live) if owners is None else owners


def _is_reset(wished: list[Any]) -> bool:
    if not wished:
        return True
    return len(wished) == 1 and type(wished[0]) is OBJECT and all(found in ("", None) for found in wished[0].values())
