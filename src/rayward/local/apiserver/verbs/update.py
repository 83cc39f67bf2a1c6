"""PUT, and what every change of an existing object has in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rayward.kube.machinery.apply import Owners, equal_ignoring_managed_times, track_update
from rayward.kube.machinery.fielderror import FieldError, invalid
from rayward.kube.machinery.objectmeta import check_object_meta_update
from rayward.local.apiserver import status
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Endpoint, Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import Live, metadata_of, stamp
from rayward.local.apiserver.options import WriteOptions, write_options
from rayward.local.apiserver.rbac.access import Access
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.respond import shown
from rayward.local.apiserver.verbs.create import ensure_namespace, insert
from rayward.local.apiserver.verbs.incoming import object_in
from rayward.local.apiserver.verbs.ownership import drop_doubled_owners
from rayward.local.store import Conflict

_KEPT_FROM_OLD = ("creationTimestamp", "deletionTimestamp")


@dataclass(frozen=True, slots=True)
class Changed:
    """The outcome of a change: the object as stored, and whether it is new."""

    value: bytes
    created: bool = False


Change = Callable[[Live | None], tuple[Object, Owners]]
"""Makes the new object from the newest one; called again when another writer came first."""


async def update(core: Core, request: Request) -> Response:
    options = write_options(request.query, request.agent, "UpdateOptions")
    unused: Object | None = _replacement(request, options)
    resource = request.resource

    def change(live: Live | None) -> tuple[Object, Owners]:
        # an attempt completes the object in place, so one that follows a lost race starts from the body again
        nonlocal unused
        obj, unused = unused or _replacement(request, options), None
        check_uid(resource, request.name, metadata_of(obj), live)
        return tracked(core, request, live, obj, options)

    allow_create = resource.behaviour.create_on_update and not request.info.subresource
    changed = await modify(core, request, change, options, allow_create=allow_create)
    return shown(core, request, 201 if changed.created else 200, changed.value)


def _replacement(request: Request, options: WriteOptions) -> Object:
    obj = object_in(request, options)
    metadata = metadata_of(obj)
    check_name(request, metadata)
    drop_doubled_owners(metadata, request.warnings)
    return obj


def tracked(
    core: Core, request: Request, live: Live | None, new: Object, options: WriteOptions
) -> tuple[Object, Owners]:
    """The new object with its managed fields brought up to date."""
    behaviour = request.resource.behaviour
    return track_update(
        live.value if live else None,
        new,
        type=behaviour.type,
        manager=options.manager,
        api_version=request.resource.api_version,
        subresource=request.info.subresource,
        now=stamp(core.clock()),
        reset=behaviour.reset_status if request.info.subresource == "status" else behaviour.reset,
        owners=core.objects.owners(live) if live else None,
    )


def check_name(request: Request, metadata: dict[str, Any]) -> None:
    """The object's name and namespace must be those of the URL."""
    name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
    if name and name != request.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({request.name})")
    if not name:
        raise nameless(request)
    if request.resource.namespaced and namespace and namespace != request.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    ensure_namespace(request, metadata)


def nameless(request: Request) -> status.ApiError:
    """The object in the body does not say its name."""
    text = f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
    return status.bad_request(text)


def check_uid(resource: Resource, name: str, metadata: dict[str, Any], live: Live | None) -> None:
    """A writer that names a uid means that very object."""
    uid = metadata.get("uid")
    if uid and live is not None and uid != live.value["metadata"]["uid"]:
        found = live.value["metadata"]["uid"]
        raise status.conflict(resource, name, _wrong_uid(resource, metadata, uid, found))
    if uid and live is None:
        raise status.conflict(resource, name, _wrong_uid(resource, metadata, uid, ""))


def _wrong_uid(resource: Resource, metadata: dict[str, Any], wanted: str, found: str) -> str:
    place = resource.plural if resource.builtin else f"{resource.group}/{resource.plural}"
    namespace = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}/{namespace}{metadata.get('name', '')}, "
        "ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )


async def modify(
    core: Core, request: Request, change: Change, options: WriteOptions, *, allow_create: bool = False
) -> Changed:
    """Change an object, or create it where that is allowed; a lost race is run again."""
    while True:
        live = core.objects.newest(request.resource, request.namespace, request.name)
        if live is None and not allow_create:
            raise status.not_found(request.resource, request.name)
        obj, owners = change(live)
        if live is None:
            core.authorizer.require(request.user, _creation(request))
            return Changed(await _insert(core, request, obj, options, owners), created=True)
        try:
            return await _replace(core, request, live, obj, owners, options)
        except Conflict:
            # another writer was faster while admission webhooks ran; a stale resourceVersion is refused on the way
            continue


def _creation(request: Request) -> Access:
    """What a PUT or apply of an object that is not there does."""
    resource = request.resource
    return Access("create", resource.group, resource.plural, "", request.namespace, request.name)


async def _insert(core: Core, request: Request, obj: Object, options: WriteOptions, owners: Owners) -> bytes:
    metadata = metadata_of(obj)
    metadata.pop("resourceVersion", None)
    return await insert(core, request, obj, options, owners)


async def _replace(
    core: Core, request: Request, live: Live, obj: Object, owners: Owners, options: WriteOptions
) -> Changed:
    resource, old, subresource = request.resource, live.value, request.info.subresource
    attributes = Attributes(
        "UPDATE", resource, subresource, request.namespace, obj, old, request.user, options.dry_run, options.stated
    )
    obj = await core.admission.mutate(core, attributes, request.warnings)
    metadata = metadata_of(obj)
    _check_resource_version(resource, request.name, metadata, old["metadata"]["resourceVersion"])
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    if "generation" in old["metadata"]:
        metadata["generation"] = old["metadata"]["generation"]
    else:
        metadata.pop("generation", None)
    attributes = attributes.with_object(obj)
    if subresource:
        return await _replace_complete(core, request, live, attributes, owners, options)
    release = core.admission.allocate(core, resource, obj, old, dry_run=options.dry_run)
    try:
        return await _replace_complete(core, request, live, attributes, owners, options)
    finally:
        release()


async def _replace_complete(
    core: Core, request: Request, live: Live, attributes: Attributes, owners: Owners, options: WriteOptions
) -> Changed:
    resource, obj, old = request.resource, attributes.obj, live.value
    behaviour = resource.behaviour
    assert obj is not None
    endpoint = _endpoint(resource, attributes.subresource)
    endpoint.prepare(obj, old)
    metadata = metadata_of(obj)
    if endpoint.counts_generation and _content_changed(obj, old, with_status=not behaviour.has_status):
        metadata["generation"] = old["metadata"].get("generation", 0) + 1
    _keep_system_fields(metadata, old["metadata"])
    wrong = check_object_meta_update(metadata, old["metadata"], kube_finalizers=behaviour.kube_finalizers)
    # kube-apiserver checks metadata for all kinds alike and again with the kind, and says so twice
    errors = [*wrong, *wrong, *endpoint.validate(obj, old)]
    if errors:
        raise status.invalid(resource.judged_group, resource.kind, request.name, errors)
    if not attributes.subresource:
        request.warnings.extend(behaviour.warnings(obj, old))
    await core.admission.validate(core, attributes, request.warnings)
    if equal_ignoring_managed_times(obj, old):
        await core.objects.store.committed(live.record.revision)
        return Changed(core.objects.view(resource, live.record))
    return await store_change(core, resource, live, obj, owners, dry_run=options.dry_run)


def _endpoint(resource: Resource, subresource: str) -> Endpoint:
    behaviour = resource.behaviour
    if subresource == "status":
        return Endpoint(behaviour.prepare_status, behaviour.validate_status)
    known = behaviour.endpoints.get(subresource)
    return known or Endpoint(behaviour.prepare_update, behaviour.validate_update, behaviour.counts_generation)


async def store_change(
    core: Core, resource: Resource, live: Live, obj: Object, owners: Owners | None, *, dry_run: bool
) -> Changed:
    """Store the new version, or remove the object if it was only waiting for its last finalizer."""
    store, key, revision = core.objects.store, live.record.key, live.record.revision
    encoder = None if dry_run else await core.objects.encoder(resource, obj)
    metadata = obj["metadata"]
    finished = (
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not resource.behaviour.held(obj)
    )
    if encoder is None:
        return Changed(core.objects.preview(resource, obj, revision))
    if finished:
        # watchers see the object as it last was
        last = await core.objects.encoder(resource, live.value)
        await store.delete(key, last, expect=revision)
        return Changed(core.objects.preview(resource, obj, revision))
    record = await store.put(key, encoder, expect=revision)
    if owners is not None:
        core.objects.remember_owners(record, owners)
    return Changed(await core.objects.shown(resource, record))


def _check_resource_version(resource: Resource, name: str, metadata: dict[str, Any], current: str) -> None:
    given = metadata.get("resourceVersion") or ""
    if not given or given == "0":
        if resource.behaviour.needs_resource_version:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(resource.group, resource.plural, name, [error])
        return
    if not given.isascii() or not given.isdigit():
        raise status.bad_request(f'strconv.ParseUint: parsing "{given}": invalid syntax')
    if given != current:
        raise status.conflict(resource, name)


def _keep_system_fields(metadata: dict[str, Any], old: dict[str, Any]) -> None:
    if not metadata.get("uid"):
        metadata["uid"] = old["uid"]
    for name in _KEPT_FROM_OLD:
        if name in old:
            metadata[name] = old[name]
    if "deletionGracePeriodSeconds" in old:
        metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])


def _content_changed(new: Object, old: Object, *, with_status: bool) -> bool:
    skipped = {"metadata", "apiVersion", "kind"} if with_status else {"metadata", "status", "apiVersion", "kind"}
    return {k: v for k, v in new.items() if k not in skipped} != {k: v for k, v in old.items() if k not in skipped}


def refused(resource: Resource, name: str, errors: list[FieldError]) -> status.ApiError:
    """An Invalid Status for an object of this resource."""
    return status.invalid(resource.group, resource.kind, name, errors)
