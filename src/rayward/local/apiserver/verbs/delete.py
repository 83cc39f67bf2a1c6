"""DELETE: at once, after a grace period, or when the last finalizer is gone."""

from __future__ import annotations

import asyncio
import calendar
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rayward.kube.machinery import decoding
from rayward.kube.machinery.fielderror import FieldError, Reason, invalid
from rayward.kube.machinery.jsonvalue import entries, is_object, section
from rayward.local.apiserver import requestbody, status
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import Live, stamp
from rayward.local.apiserver.options import check_dry_run, list_options, number, text
from rayward.local.apiserver.protobuf import ProtobufError
from rayward.local.apiserver.protobuf import decode as decode_protobuf
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.respond import shown, shown_object
from rayward.local.apiserver.verbs.incoming import shape
from rayward.local.apiserver.verbs.read import cut, list_meta, list_response, matching_records, place, selection
from rayward.local.store import Conflict, Record

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_AT_ONCE = 256
_IDENTITY = frozenset({"kind", "apiVersion"})
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How an object is to go."""

    grace: int | None
    policy: str
    """Foreground, Background, Orphan or empty: as the object's finalizers say."""
    uid: str | None
    resource_version: str | None
    dry_run: bool
    orphan: bool | None
    stated: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the caller said of it, for webhooks to see."""


async def delete(core: Core, request: Request) -> Response:
    """Answer a DELETE of one object."""
    options = _delete_options(request)
    while True:
        live = core.objects.newest(request.resource, request.namespace, request.name)
        if live is None:
            raise status.not_found(request.resource, request.name)
        try:
            value, removed = await _remove(core, request, live, options)
        except Conflict:
            continue
        break
    code = 202 if not removed and options.orphan is False else 200
    if removed and not request.resource.behaviour.returns_deleted:
        details = status.about(request.resource, request.name)
        details["uid"] = live.value["metadata"]["uid"]
        return shown_object(request, code, status.success(200, details))
    return shown(core, request, code, value)


async def delete_collection(core: Core, request: Request) -> Response:
    """Answer a DELETE of all objects that match; the answer lists them as they were."""
    options = _delete_options(request)
    wanted = list_options(request.query)
    chosen = selection(core, request, wanted)
    place(core, wanted)
    revision = core.objects.store.revision
    meta = list_meta(request.resource, revision)
    records = cut(matching_records(core, request, chosen), wanted.limit, meta, chosen, revision)

    async def one(key: str) -> None:
        while True:
            record = core.objects.store.newest(key)
            if record is None:
                return
            live = Live(record, core.objects.decode(request.resource, record))
            try:
                await _remove(core, request, live, options)
            except Conflict:
                continue
            return

    for start in range(0, len(records), _AT_ONCE):
        await asyncio.gather(*(one(record.key) for record in records[start : start + _AT_ONCE]))
    return list_response(core, request, records, meta)


async def _remove(core: Core, request: Request, live: Live, options: DeleteOptions) -> tuple[bytes, bool]:
    """Take one step of a deletion; returns the object and whether it is gone."""
    resource, obj = request.resource, live.value
    check_preconditions(request, obj, options.uid, options.resource_version)
    attributes = Attributes(
        "DELETE", resource, "", request.namespace, None, obj, request.user, options.dry_run, options.stated
    )
    await core.admission.validate(core, attributes, request.warnings)
    behaviour = resource.behaviour
    if behaviour.orphans and not options.policy and options.orphan is None:
        request.warnings.append(behaviour.orphans)
    if behaviour.mark is not None and not obj["metadata"].get("deletionTimestamp"):
        marked = behaviour.mark(obj, stamp(core.clock()))
        return await _keep(core, resource, live, marked, dry_run=options.dry_run), False
    held = obj["metadata"].get("deletionTimestamp") and behaviour.held(obj)
    after = obj if held else deleted(behaviour.grace, obj, options, core.clock(), orphans=bool(behaviour.orphans))
    if after is obj:
        await core.objects.store.committed(live.record.revision)
        return core.objects.view(resource, live.record), False
    store, revision = core.objects.store, live.record.revision
    key = live.record.key
    if _finished(after):
        if options.dry_run:
            return core.objects.preview(resource, after, revision), True
        encoder = await core.objects.encoder(resource, after)
        if behaviour.grace is not None:
            # a graceful kind is marked first and then goes, so that watchers see both; nobody comes in between
            store.put(key, encoder, expect=revision)
            revision = store.newest_revision
        event = await store.delete(key, encoder, expect=revision)
        return await core.objects.shown(resource, Record(key, event.revision, event.value)), True
    return await _keep(core, resource, live, after, dry_run=options.dry_run), False


async def _keep(core: Core, resource: Resource, live: Live, obj: Object, *, dry_run: bool) -> bytes:
    """Store an object that is marked and waits."""
    if dry_run:
        return core.objects.preview(resource, obj, live.record.revision)
    store, revision = core.objects.store, live.record.revision
    encoder = await core.objects.encoder(resource, obj)
    record = await store.put(live.record.key, encoder, expect=revision)
    return await core.objects.shown(resource, record)


def _finished(obj: Object) -> bool:
    metadata = obj["metadata"]
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")


def deleted(
    grace_of: Callable[[Object, int | None], int] | None,
    obj: Object,
    options: DeleteOptions,
    now: float,
    *,
    orphans: bool = False,
) -> Object:
    """The object after a delete: what it was if nothing changes, else marked, with the finalizers of the policy."""
    metadata = obj["metadata"]
    marked: Object = {**obj, "metadata": {**metadata}}
    target = marked["metadata"]
    graceful = False
    if grace_of is not None:
        if metadata.get("deletionTimestamp"):
            left = metadata.get("deletionGracePeriodSeconds")
            if left:
                if options.grace is None or options.grace >= left:
                    return obj
                _shorten(target, options.grace, left, now)
                graceful = True
        else:
            grace = grace_of(obj, options.grace)
            target["deletionTimestamp"] = stamp(now + grace)
            target["deletionGracePeriodSeconds"] = grace
            _raise_generation(target)
            graceful = True
    finalizers = _finalizers_for(metadata.get("finalizers") or [], options, orphans=orphans)
    if finalizers:
        target["finalizers"] = finalizers
    else:
        target.pop("finalizers", None)
    if not graceful and finalizers:
        if not metadata.get("deletionTimestamp"):
            target["deletionTimestamp"] = stamp(now)
            _raise_generation(target)
        target["deletionGracePeriodSeconds"] = 0
        if target == metadata:
            return obj
    return marked


def _shorten(metadata: dict[str, Any], grace: int, left: int, now: float) -> None:
    due = calendar.timegm(time.strptime(metadata["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ")) - left + grace
    if due < now:
        due = now
        grace = 1 if grace else 0
    metadata["deletionTimestamp"] = stamp(due)
    metadata["deletionGracePeriodSeconds"] = grace


def _raise_generation(metadata: dict[str, Any]) -> None:
    if metadata.get("generation"):
        metadata["generation"] += 1


def _finalizers_for(present: list[str], options: DeleteOptions, *, orphans: bool) -> list[str]:
    kept = [name for name in present if name not in {_ORPHAN, _FOREGROUND}]
    orphan = options.policy == "Orphan" or (
        not options.policy and (_ORPHAN in present or (orphans and _FOREGROUND not in present))
    )
    foreground = options.policy == "Foreground" or (not options.policy and _FOREGROUND in present)
    if orphan:
        kept.append(_ORPHAN)
    if foreground:
        kept.append(_FOREGROUND)
    return kept


def check_preconditions(request: Request, obj: Object, wanted_uid: str | None, wanted_version: str | None) -> None:
    """A caller that names a uid or a version means that very object."""
    metadata = obj["metadata"]
    name, uid, version = metadata["name"], metadata["uid"], metadata["resourceVersion"]
    if wanted_uid is not None and wanted_uid != uid:
        why = (
            f"the UID in the precondition ({wanted_uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise _kind_conflict(request, name, why)
    if wanted_version is not None and wanted_version != version:
        why = (
            f"the ResourceVersion in the precondition ({wanted_version}) does not match the ResourceVersion "
            f"in record ({version}). The object might have been modified"
        )
        raise _kind_conflict(request, name, why)


def _kind_conflict(request: Request, name: str, why: str) -> status.ApiError:
    resource = request.resource
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    text = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    return status.ApiError(409, "Conflict", text, status.about(resource, name, kind=resource.kind))


def _delete_options(request: Request) -> DeleteOptions:
    given: dict[str, Any]
    if request.body:
        given = _options_in_body(request)
    else:
        given = {
            "gracePeriodSeconds": number(request.query, "gracePeriodSeconds"),
            "propagationPolicy": text(request.query, "propagationPolicy") or None,
            "dryRun": list(request.query.get("dryRun", ())),
        }
        named = {name: text(request.query, name) for name in ("uid", "resourceVersion")}
        if any(named.values()):
            given["preconditions"] = {name: value for name, value in named.items() if value}
        if "orphanDependents" in request.query:
            given["orphanDependents"] = text(request.query, "orphanDependents").lower() not in {"0", "false"}
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    errors: list[FieldError] = []
    if orphan is not None and policy is not None:
        text_ = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, text_))
    if policy is not None and policy not in _POLICIES:
        supported = 'supported values: "Foreground", "Background", "Orphan", "nil"'
        errors.append(FieldError(Reason.NOT_SUPPORTED, "propagationPolicy", policy, supported))
    dry_run: list[str] = entries(given, "dryRun")
    errors.extend(check_dry_run(dry_run))
    if errors:
        raise status.invalid("meta.k8s.io", "DeleteOptions", "", errors)
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    preconditions = section(given, "preconditions")
    grace = given.get("gracePeriodSeconds")
    return DeleteOptions(
        grace=1 if grace is not None and grace < 0 else grace,
        policy=policy or "",
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
        orphan=orphan,
        stated={name: value for name, value in given.items() if name not in _IDENTITY and value not in (None, [])},
    )


def _options_in_body(request: Request) -> dict[str, Any]:
    content_type = request.header(b"content-type")
    try:
        decoded = requestbody.decode(request.body, content_type, strict=False, protobuf=decode_protobuf)
    except (decoding.MalformedError, ProtobufError) as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    given = decoded.value
    if not is_object(given):
        raise status.bad_request("decoded object cannot be converted to DeleteOptions")
    if (given.get("kind") or "DeleteOptions") != "DeleteOptions":
        version = given.get("apiVersion", "")
        raise status.bad_request(
            f'no kind "{given["kind"]}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    shape(given, "", "DeleteOptions", status.bad_request)
    return given
