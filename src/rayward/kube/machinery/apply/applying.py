"""Server-side apply of a configuration to an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rayward.kube.machinery.apply import lastapplied
from rayward.kube.machinery.apply.changes import compare
from rayward.kube.machinery.apply.checking import MisfitError, check
from rayward.kube.machinery.apply.conflict import ApplyConflict
from rayward.kube.machinery.apply.fieldset import NOTHING, FieldSet, difference
from rayward.kube.machinery.apply.owners import (
    APPLY,
    NOBODY,
    UPDATE,
    Owner,
    OwnerKey,
    Owners,
    managed_fields,
    owner_key,
    owners_of,
)
from rayward.kube.machinery.apply.types import ItemError
from rayward.kube.machinery.apply.updater import ConflictError, apply
from rayward.kube.machinery.apply.values import Object, metadata_of
from rayward.kube.machinery.apply.write import NEVER_OWNED, Write, fitting, owning, updated, with_owners

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rayward.kube.machinery.apply.types import Map

_BEFORE_FIRST_APPLY: Final = "before-first-apply"


class ApplyError(Exception):
    """A configuration that can not be applied; a bad request, or else an internal error in Kubernetes' eyes."""

    def __init__(self, message: str, *, bad_request: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.bad_request = bad_request


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
    before = NOBODY if live is None else owners_of(live) if owners is None else owners
    write = Write(type, owner_key(manager or "unknown", APPLY, api_version, subresource), now, reset)
    try:
        check(config, type)
        known = _known_owners(live, before, write, api_version)
        new, fields = _merged(
            live, config, {key: owner.fields for key, owner in known.items()}, write, api_version, force
        )
    except MisfitError as error:
        raise ApplyError(f"failed to create typed patch object ({_describe(config)}): {error}") from error
    except ItemError as error:
        raise ApplyError(f"failed to create typed live object ({_describe(config)}): {error}") from error
    except RecursionError as error:
        raise ApplyError("the object is nested too deeply", bad_request=True) from error
    after = Owners(_owners_after(known, fields, write, api_version, changed=new is not live), type)
    if write.me[0] == lastapplied.MANAGER:
        new = lastapplied.kept_up(new, config)
    if new is live and after == before:
        return new, after
    return with_owners(new, after), after


def _known_owners(live: Object | None, before: Owners, write: Write, api_version: str) -> Mapping[OwnerKey, Owner]:
    known = fitting(before, write.of)
    if known or live is None:
        return known
    first = Write(write.of, owner_key(_BEFORE_FIRST_APPLY, UPDATE, api_version, write.me[3]), write.now, write.reset)
    return updated({}, compare(write.of.zero, live, write.of), first, api_version).by_key


def _merged(
    live: Object | None,
    config: Object,
    owners: dict[OwnerKey, FieldSet],
    write: Write,
    api_version: str,
    force: bool,
) -> tuple[Object, dict[OwnerKey, FieldSet]]:
    base = {} if live is None else live
    try:
        return apply(base, config, write.of, owners, write.me, force=force, reset=write.reset)
    except ConflictError as conflict:
        clashes: dict[OwnerKey, FieldSet] = conflict.fields
    if write.me[0] == lastapplied.MANAGER:
        allowed = lastapplied.taken_over(base, write.of, api_version)
        clashes = {owner: rest for owner, fields in clashes.items() if (rest := difference(fields, allowed))}
    if clashes:
        raise ApplyConflict(clashes)
    return apply(base, config, write.of, owners, write.me, force=True, reset=write.reset)


def _owners_after(
    known: Mapping[OwnerKey, Owner],
    fields: dict[OwnerKey, FieldSet],
    write: Write,
    api_version: str,
    *,
    changed: bool,
) -> dict[OwnerKey, Owner]:
    me = write.me
    mine = difference(fields.pop(me, NOTHING), NEVER_OWNED)
    after = {key: owning(known[key], found) for key, found in fields.items()}
    if mine:
        last = known.get(me)
        # An applier that changes nothing keeps its time, or has none if it is new.
        time = write.now if changed else last.time if last else None
        after[me] = Owner(me[0], APPLY, api_version, me[3], time, mine)
    return after


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
