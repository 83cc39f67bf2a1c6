"""PATCH: JSON patch, JSON merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from rayward.kube.machinery.apply import ApplyConflict, ApplyError, Owners, apply_config
from rayward.kube.machinery.fielderror import invalid
from rayward.kube.machinery.jsonvalue import is_object
from rayward.kube.machinery.patch import PatchError, json_patch, merge_patch, strategic
from rayward.local.apiserver import body, media, recorded, status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import Live, metadata_of, stamp
from rayward.local.apiserver.options import APPLY, WriteOptions, write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.respond import shown
from rayward.local.apiserver.verbs.create import ensure_namespace
from rayward.local.apiserver.verbs.incoming import settle
from rayward.local.apiserver.verbs.ownership import drop_doubled_owners
from rayward.local.apiserver.verbs.update import modify, tracked

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


async def patch(core: Core, request: Request) -> Response:
    """Answer a PATCH."""
    kind = media.essence(request.header(b"content-type"))
    allowed = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY]
    if request.resource.behaviour.patch_schema is None:
        allowed.remove(STRATEGIC_PATCH)
    if kind not in allowed:
        raise status.unsupported_media_type(allowed)
    options = write_options(request.query, request.agent, "PatchOptions", kind)
    if kind == APPLY:
        change = _applied(core, request, options)
    else:
        change = _patched(core, request, options, _PATCHES[kind](request, options))
    changed = await modify(core, request, change, options, allow_create=kind == APPLY)
    return shown(core, request, 201 if changed.created else 200, changed.value)


_Patch = Callable[[Object], tuple[Object, list[str], Any]]
"""From the present object to the patched one, what a strict decoder says of the patch, and what a refusal shows."""


def _json_patch(request: Request, options: WriteOptions) -> _Patch:
    decoded = _patch_body(request, options)

    def run(current: Object) -> tuple[Object, list[str], Any]:
        result = json_patch.apply(current, decoded.value)
        return result, [f"json patch {text}" for text in decoded.strict], result

    return run


def _merge_patch(request: Request, options: WriteOptions) -> _Patch:
    decoded = _patch_body(request, options)

    def run(current: Object) -> tuple[Object, list[str], Any]:
        result = merge_patch.apply(current, decoded.value)
        return result, decoded.strict, result

    return run


def _strategic_patch(request: Request, options: WriteOptions) -> _Patch:
    decoded = _patch_body(request, options)
    schema = request.resource.behaviour.patch_schema or {}

    def run(current: Object) -> tuple[Object, list[str], Any]:
        return strategic.apply(current, decoded.value, schema, recorded.schema), decoded.strict, decoded.value

    return run


_PATCHES = {JSON_PATCH: _json_patch, MERGE_PATCH: _merge_patch, STRATEGIC_PATCH: _strategic_patch}


def _patch_body(request: Request, options: WriteOptions) -> body.Body:
    try:
        return body.decode_json(request.body, strict=options.validation != "Ignore")
    except body.MalformedError as error:
        prefix = "" if media.essence(request.header(b"content-type")) == STRATEGIC_PATCH else "error decoding patch: "
        raise status.bad_request(f"{prefix}{error}") from None


def _patched(core: Core, request: Request, options: WriteOptions, run: _Patch) -> Any:
    resource = request.resource

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(resource, request.name)
        try:
            obj, doubled, refused_value = run(live.value)
        except PatchError as error:
            raise status.ApiError(error.code, error.reason, str(error)) from None
        if not isinstance(obj, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _refuse_patch(refused_value, "the patched object is not an object")
        obj = orjson.loads(orjson.dumps(obj))
        if obj.get("apiVersion") != resource.api_version or obj.get("kind") != resource.kind:
            raise _identity_changed(request, obj)
        settle(
            resource, obj, options, request.warnings, doubled, refuse=lambda text: _refuse_patch(refused_value, text)
        )
        _check_patched_name(request, obj)
        drop_doubled_owners(metadata_of(obj), request.warnings)
        return tracked(core, request, live, obj, options)

    return change


def _refuse_patch(value: Any, text: str) -> status.ApiError:
    shown_value = orjson.dumps(value).decode()
    return status.invalid("", "", "", [invalid("patch", shown_value, text)])


def _identity_changed(request: Request, obj: Object) -> status.ApiError:
    resource = request.resource
    text = (
        f'the provided version "{obj.get("apiVersion", "")}" and kind "{obj.get("kind", "")}" cannot be mapped to a '
        f"{resource.kind} in {resource.api_version}"
    )
    return status.bad_request(text)


def _check_patched_name(request: Request, obj: Object) -> None:
    metadata = metadata_of(obj)
    ensure_namespace(request, metadata)
    name = metadata.get("name") or ""
    if not name:
        raise status.bad_request("the name of the object (based on URL) was undeterminable: name must be provided")
    if name != request.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({request.name})")


def _applied(core: Core, request: Request, options: WriteOptions) -> Any:
    resource, behaviour = request.resource, request.resource.behaviour
    try:
        decoded = body.decode_yaml(request.body, strict=options.validation != "Ignore")
    except body.MalformedError as error:
        raise status.bad_request(f"error decoding YAML: {error}") from None
    config = decoded.value
    if not is_object(config):
        raise status.bad_request("error decoding YAML: json: cannot unmarshal into a map")

    def change(live: Live | None) -> tuple[Object, Owners]:
        try:
            obj, owners = apply_config(
                live.value if live else None,
                config,
                type=behaviour.type,
                manager=options.manager,
                force=options.force,
                api_version=resource.api_version,
                kind=resource.kind,
                subresource=request.info.subresource,
                now=stamp(core.clock()),
                reset=behaviour.reset_status if request.info.subresource == "status" else behaviour.reset,
                owners=core.objects.owners(live) if live else None,
            )
        except ApplyConflict as error:
            raise _apply_conflict(error) from None
        except ApplyError as error:
            raise status.bad_request(str(error)) if error.bad_request else _unfit(error) from None
        obj = orjson.loads(orjson.dumps(obj))
        if decoded.strict and options.validation == "Strict":
            raise status.bad_request("error strict decoding YAML: " + ", ".join(decoded.strict))
        request.warnings.extend(decoded.strict)
        settle(resource, obj, options, request.warnings, [], refuse=status.bad_request)
        metadata = metadata_of(obj)
        if live is None and metadata.get("uid"):
            text = (
                f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            )
            raise status.conflict(resource, request.name, text)
        _check_patched_name(request, obj)
        return obj, owners

    return change


def _apply_conflict(error: ApplyConflict) -> status.ApiError:
    causes = [
        {"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field} for cause in error.causes
    ]
    return status.ApiError(409, "Conflict", error.message, {"causes": causes})


def _unfit(error: ApplyError) -> status.ApiError:
    return status.ApiError(500, "", error.message)
