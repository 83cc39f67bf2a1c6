"""Managed fields of whole requests: what kube-apiserver does around the algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from rayward.kube.machinery.apply import lastapplied
from rayward.kube.machinery.apply.cap import capped
from rayward.kube.machinery.apply.changes import Changes, compare
from rayward.kube.machinery.apply.checking import MisfitError, check
from rayward.kube.machinery.apply.conflict import ApplyConflict
from rayward.kube.machinery.apply.fieldset import NOTHING, FieldSet, difference, exclude, set_of, union
from rayward.kube.machinery.apply.owners import (
    APPLY,
    NOBODY,
    UPDATE,
    Owner,
    OwnerKey,
    Owners,
    encode,
    managed_fields,
    owner_key,
    owners_of,
    readable_owners_of,
)
from rayward.kube.machinery.apply.reconcile import fitted
from rayward.kube.machinery.apply.types import ItemError, Map
from rayward.kube.machinery.apply.updater import ConflictError, apply, yielded
from rayward.kube.machinery.apply.values import OBJECT, Object, metadata_of

if TYPE_CHECKING:
    from collections.abc import Mapping

RESET_STATUS: Final[FieldSet] = set_of(("f:status",))
"""What the main endpoint of a kind with a status subresource leaves alone."""

RESET_SPEC: Final[FieldSet] = set_of(("f:spec",))
"""What the status endpoint of most built-in kinds leaves alone."""

RESET_ALL_BUT_STATUS: Final[FieldSet] = set_of(("f:metadata",), ("f:spec",))
"""What the status endpoint of a custom kind leaves alone."""

_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_NEVER_OWNED: Final[FieldSet] = set_of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", "f:" + name)
        for name in (
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
    ),
)


class ApplyError(Exception):
    """A configuration that can not be applied; a bad request, or else an internal error in Kubernetes' eyes."""

    def __init__(self, message: str, *, bad_request: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.bad_request = bad_request


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
        reset: the fields that the endpoint ignores.
        owners: what ``owners_of(live)`` gives, if it is known.
    """
    before = _owners_before(live, new, subresource, owners)
    if not len(before) and live is not None and metadata_of(live).get("uid"):
        return _with(new, NOBODY), NOBODY
    try:
        changes = compare(type.zero if live is None else live, new, type)
        after = _updated(
            _fitting(before, type),
            changes,
            owner_key(manager or "unknown", UPDATE, api_version, subresource),
            now,
            reset,
            type,
        )
    except (ItemError, RecursionError):
        # A write never fails for its managed fields; an object that can not be tracked has none.
        return _with(new, NOBODY), NOBODY
    return _with(new, after), after


def apply_config(
    live: Object | None,
    config: Object,
    *,
    type: Map,  # noqa: A002
    manager: str,
    api_version: str,
    now: str,
    force: bool = False,
    kind: str | None = None,
    subresource: str = "",
    reset: FieldSet = NOTHING,
    owners: Owners | None = None,
) -> tuple[Object, Owners]:
    """The object after a server-side apply with its managed fields, and who owns what in it then.

    The live object itself comes back if neither it nor its owners change. Arguments are those of ``track_update``;
    ``kind`` is the kind that the request's path names.

    Raises:
        ApplyConflict: others own fields that would change, and ``force`` is off.
        ApplyError: the configuration does not fit.
    """
    _check_header(config, api_version, kind)
    before = (owners_of(live) if owners is None else owners) if live is not None else NOBODY
    try:
        check(config, type)
    except MisfitError as error:
        raise ApplyError(f"failed to create typed patch object ({_describe(config)}): {error}") from error
    except RecursionError as error:
        raise ApplyError("the configuration is nested too deeply", bad_request=True) from error
    me = owner_key(manager or "unknown", APPLY, api_version, subresource)
    try:
        known = _fitting(before, type)
        if not known and live is not None:
            first = owner_key(_BEFORE_FIRST_APPLY, UPDATE, api_version, subresource)
            known = _updated({}, compare(type.zero, live, type), first, now, reset, type).by_key
        new, fields = _merged(
            live, config, type, {key: owner.fields for key, owner in known.items()}, me, force, reset, api_version
        )
    except ItemError as error:
        raise ApplyError(f"failed to create typed live object ({_describe(config)}): {error}") from error
    mine = difference(fields.pop(me, NOTHING), _NEVER_OWNED)
    after = {key: _owning(known[key], found) for key, found in fields.items()}
    if mine:
        last = known.get(me)
        time = now if new is not live else last and last.time
        after[me] = Owner(me[0], APPLY, api_version, subresource, time, mine)
    result = Owners(after, type)
    if new is live and live is not None and result == before:
        return live, result
    if me[0] == lastapplied.MANAGER:
        new = lastapplied.kept_up(new, config)
    return _with(new, result), result


def _merged(
    live: Object | None,
    config: Object,
    of: Map,
    owners: dict[OwnerKey, FieldSet],
    me: OwnerKey,
    force: bool,
    reset: FieldSet,
    api_version: str,
) -> tuple[Object, dict[OwnerKey, FieldSet]]:
    base = {} if live is None else live
    try:
        return apply(base, config, of, owners, me, force=force, reset=reset)
    except ConflictError as conflict:
        clashes: dict[OwnerKey, FieldSet] = conflict.fields
        if me[0] != lastapplied.MANAGER:
            raise ApplyConflict(clashes) from None
    allowed = lastapplied.taken_over(base, of, api_version)
    left = {owner: rest for owner, fields in clashes.items() if (rest := difference(fields, allowed))}
    if left:
        raise ApplyConflict(left)
    return apply(base, config, of, owners, me, force=True, reset=reset)


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


def _fitting(owners: Owners, of: Map) -> Mapping[OwnerKey, Owner]:
    if owners.fitted_to is of:
        return owners.by_key
    return {key: _owning(owner, fitted(owner.fields, of)) for key, owner in owners.by_key.items()}


def _updated(
    owners: Mapping[OwnerKey, Owner], changes: Changes, me: OwnerKey, now: str, reset: FieldSet, of: Map
) -> Owners:
    if reset:
        changes = Changes(exclude(changes.changed, reset), exclude(changes.removed, reset))
    after: dict[OwnerKey, Owner]
    if changes.changed or changes.removed:
        fields = yielded({key: owner.fields for key, owner in owners.items()}, changes, None)
        after = {key: _owning(owners[key], found) for key, found in fields.items()}
    else:
        after = dict(owners)
    mine = difference(changes.changed, _NEVER_OWNED)
    if mine:
        last = after.get(me)
        manager, operation, api_version, subresource = me
        after[me] = Owner(manager, operation, api_version, subresource, now, union(mine, last.fields) if last else mine)
        after = capped(after)
    return Owners(after, of)


def _owning(owner: Owner, fields: FieldSet) -> Owner:
    return owner if fields is owner.fields else msgspec.structs.replace(owner, fields=fields)


def _with(obj: Object, owners: Owners) -> Object:
    metadata = metadata_of(obj)
    if len(owners):
        return {**obj, "metadata": {**metadata, "managedFields": encode(owners)}}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _check_header(config: Object, api_version: str, kind: str | None) -> None:
    if config.get("apiVersion") != api_version or (kind is not None and config.get("kind") != kind):
        raise ApplyError(f"invalid object type: {_kind_text(config)}", bad_request=True)
    if managed_fields(config) is not None:
        raise ApplyError("metadata.managedFields must be nil", bad_request=True)


def _describe(obj: Object) -> str:
    names = metadata_of(obj)
    return f"{names.get('namespace') or ''}/{names.get('name') or ''}; {_kind_text(obj)}"


def _kind_text(obj: Object) -> str:
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind') or ''}"
