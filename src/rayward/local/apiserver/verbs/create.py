"""POST: a new object."""

from __future__ import annotations

from typing import Any

import orjson

from rayward.kube.machinery.apply import Owners, track_update
from rayward.kube.machinery.fielderror import too_long
from rayward.kube.machinery.objectmeta import check_object_meta
from rayward.local.apiserver import status
from rayward.local.apiserver.admission import is_being_deleted
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import metadata_of, new_uid, rendered, stamp
from rayward.local.apiserver.options import WriteOptions, write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.respond import shown
from rayward.local.apiserver.verbs.incoming import object_in
from rayward.local.apiserver.verbs.ownership import drop_doubled_owners

_NAME_TRIES = 8
_LONGEST_NAME = 1_024
_SYSTEM_FIELDS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "selfLink")


async def create(core: Core, request: Request) -> Response:
    options = write_options(request.query, request.agent, "CreateOptions")
    obj = object_in(request, options)
    metadata = metadata_of(obj)
    if request.resource.terminating:
        raise _definition_goes(request.resource, metadata.get("name", ""))
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)
    if metadata.get("resourceVersion"):
        raise status.bad_request("resourceVersion should not be set on objects to be created")
    ensure_namespace(request, metadata)
    drop_doubled_owners(metadata, request.warnings)
    resource = request.resource
    obj, owners = track_update(
        None,
        obj,
        type=resource.behaviour.type,
        manager=options.manager,
        api_version=resource.api_version,
        subresource="",
        now=stamp(core.clock()),
        reset=resource.behaviour.reset,
    )
    value = await insert(core, request, obj, options, owners)
    return shown(core, request, 201, value)


def ensure_namespace(request: Request, metadata: dict[str, Any]) -> None:
    """The object is in the request's namespace, and may not say otherwise."""
    wanted = request.namespace if request.resource.namespaced else ""
    given = metadata.get("namespace") or ""
    if given == wanted or not wanted:
        if not wanted:
            metadata.pop("namespace", None)
        return
    if given:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = wanted


def posted(request: Request, obj: Object, options: WriteOptions) -> Attributes:
    """A create, as admission sees it."""
    return Attributes(
        "CREATE",
        request.resource,
        request.info.subresource,
        request.namespace,
        obj,
        None,
        request.user,
        options.dry_run,
        options.stated,
        request.name,
    )


def posted_part(request: Request, obj: Object, options: WriteOptions) -> Attributes:
    """The create of an object that is stored nowhere, such as an eviction, completed with what the URL says of it."""
    attributes = posted(request, obj, options)
    group, version, obj["kind"] = attributes.kind
    obj["apiVersion"] = f"{group}/{version}" if group else version
    ensure_namespace(request, metadata_of(obj))
    return attributes


async def insert(core: Core, request: Request, obj: Object, options: WriteOptions, owners: Owners | None) -> bytes:
    """Admit, complete, check and store a new object; the bytes are what was stored."""
    resource, behaviour = request.resource, request.resource.behaviour
    metadata = metadata_of(obj)
    attributes = posted(request, obj, options)
    obj = await core.admission.mutate(core, attributes, request.warnings)
    metadata = metadata_of(obj)
    metadata["creationTimestamp"] = stamp(core.clock())
    metadata["uid"] = new_uid()
    if behaviour.counts_generation:
        metadata["generation"] = 1
    generated = not metadata.get("name")
    name = _settle_name(core, resource.key, request.namespace, metadata)
    release = core.admission.allocate(core, resource, obj, None, dry_run=options.dry_run)
    try:
        return await _insert_complete(
            core, request, attributes.with_object(obj), options, owners, name, generated=generated
        )
    finally:
        release()


async def _insert_complete(
    core: Core,
    request: Request,
    attributes: Attributes,
    options: WriteOptions,
    owners: Owners | None,
    name: str,
    *,
    generated: bool,
) -> bytes:
    resource, behaviour, obj = request.resource, request.resource.behaviour, attributes.obj
    assert obj is not None
    metadata = metadata_of(obj)
    behaviour.prepare_create(obj)
    errors = check_object_meta(
        metadata,
        namespaced=resource.namespaced,
        name_check=behaviour.check_name,
        kube_finalizers=behaviour.kube_finalizers,
    )
    if len(name) > _LONGEST_NAME:
        # kinds that allow any name have no limit of their own
        errors.append(too_long("metadata.name", _LONGEST_NAME))
    errors += behaviour.validate(obj)
    if errors:
        raise status.invalid(resource.judged_group, resource.kind, name, errors)
    request.warnings.extend(behaviour.warnings(obj, None))
    encoder = await core.objects.encoder(resource, obj)
    await core.admission.validate(core, attributes, request.warnings)
    if not resource.builtin:
        # the definition may have gone while webhooks were asked
        served = core.registry.find(resource.group, resource.version, resource.plural)
        if served is None or served.terminating:
            raise _definition_goes(resource, name)
    key = resource.key(request.namespace, name)
    present = core.objects.store.newest(key)
    if present is not None:
        if is_being_deleted(present):
            raise _being_deleted(resource, name)
        if generated:
            raise _no_unique_name(resource, name)
        raise status.already_exists(resource, name)
    if options.dry_run:
        shown_value = orjson.loads(core.objects.preview(resource, obj, 0))
        del shown_value["metadata"]["resourceVersion"]
        return rendered(resource.head, shown_value)
    record = await core.objects.store.put(key, encoder, expect=0)
    if owners is not None:
        core.objects.remember_owners(record, owners)
    return await core.objects.shown(resource, record)


def _definition_goes(resource: Resource, name: str) -> status.ApiError:
    return status.forbidden(resource, name, "create not allowed while custom resource definition is terminating")


def _being_deleted(resource: Resource, name: str) -> status.ApiError:
    error = status.already_exists(resource, name)
    error.message = f"object is being deleted: {error.message}"
    return error


def _no_unique_name(resource: Resource, name: str) -> status.ApiError:
    text = (
        f'{resource.qualified_name} "{name}" already exists, '
        "the server was not able to generate a unique name for the object"
    )
    return status.ApiError(409, "AlreadyExists", text, {**status.about(resource, name), "retryAfterSeconds": 1})


def _settle_name(core: Core, key: Any, namespace: str, metadata: dict[str, Any]) -> str:
    name = metadata.get("name") or ""
    prefix = metadata.get("generateName") or ""
    if name or not prefix:
        return name
    base = prefix[:58]
    for _ in range(_NAME_TRIES):
        name = base + core.suffix()
        if core.objects.store.newest(key(namespace, name)) is None:
            break
    metadata["name"] = name
    return name
