"""PATCH: JSON patch, JSON merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

import re
from typing import Any

import orjson

from rayward.kube.machinery import decoding, gotext
from rayward.kube.machinery.apply import ApplyConflict, ApplyError, Owners, apply_config
from rayward.kube.machinery.fielderror import invalid
from rayward.kube.machinery.jsonvalue import is_object
from rayward.kube.machinery.patch import PatchError, json_patch, merge_patch, strategic
from rayward.local.apiserver import media, recorded, status
from rayward.local.apiserver.behaviour import DecodeError, Object
from rayward.local.apiserver.builtin import behaviour_of_kind
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import Live, metadata_of, stamp
from rayward.local.apiserver.options import APPLY, WriteOptions, write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.respond import shown
from rayward.local.apiserver.verbs.create import ensure_namespace
from rayward.local.apiserver.verbs.incoming import json_type, settle
from rayward.local.apiserver.verbs.ownership import drop_doubled_owners
from rayward.local.apiserver.verbs.update import Change, modify, nameless, tracked

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


async def patch(core: Core, request: Request) -> Response:
    kind = media.essence(request.header(b"content-type"))
    allowed = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY]
    if request.resource.behaviour.patch_schema is None:
        allowed.remove(STRATEGIC_PATCH)
    if kind not in allowed:
        raise status.wrong_patch_type() if request.resource.builtin else status.unsupported_media_type(allowed)
    options = write_options(request.query, request.agent, "PatchOptions", kind)
    change = _applied(core, request, options) if kind == APPLY else _patched(core, request, options, kind)
    changed = await modify(core, request, change, options, allow_create=kind == APPLY and not request.info.subresource)
    return shown(core, request, 201 if changed.created else 200, changed.value)


def _json_patch(current: Object, decoded: decoding.Body, _schema: Object) -> tuple[Any, list[str]]:
    return json_patch.apply(current, decoded.value), [f"json patch {text}" for text in decoded.strict]


def _merge_patch(current: Object, decoded: decoding.Body, _schema: Object) -> tuple[Any, list[str]]:
    return merge_patch.apply(current, decoded.value), decoded.strict


def _strategic_patch(current: Object, decoded: decoding.Body, schema: Object) -> tuple[Any, list[str]]:
    return strategic.apply(current, decoded.value, schema, recorded.schema), decoded.strict


_PATCHES = {JSON_PATCH: _json_patch, MERGE_PATCH: _merge_patch, STRATEGIC_PATCH: _strategic_patch}
"""From the present object to the patched one, with what a strict decoder says of the patch."""


def _patch_body(request: Request, options: WriteOptions, kind: str) -> decoding.Body:
    try:
        return decoding.decode_patch(request.body, strict=options.validation != "Ignore")
    except decoding.MalformedError as error:
        prefix = "" if kind == STRATEGIC_PATCH else "error decoding patch: "
        raise status.bad_request(f"{prefix}{error}") from None


def _patched(core: Core, request: Request, options: WriteOptions, kind: str) -> Change:
    resource = request.resource

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(resource, request.name)
        decoded = _patch_body(request, options, kind)
        try:
            obj, doubled = _PATCHES[kind](live.value, decoded, resource.behaviour.patch_schema or {})
        except PatchError as error:
            raise status.ApiError(error.code, error.reason, str(error), {} if error.code == 422 else None) from None
        if kind == JSON_PATCH and decoding.is_too_deep(obj):
            raise status.bad_request(decoding.TOO_DEEP)
        shown_value = gotext.plain(decoded.value) if kind == STRATEGIC_PATCH else orjson.dumps(obj).decode()
        obj = orjson.loads(orjson.dumps(obj))
        if not is_object(obj):
            raise refuse_patch(shown_value, "the patched value is no object")
        if kind == STRATEGIC_PATCH:
            _keep_identity(resource, obj)
        _check_patched_identity(resource, obj, shown_value)
        worded = _as_converter_says if kind == STRATEGIC_PATCH else str
        settle(
            resource,
            obj,
            options,
            request.warnings,
            doubled,
            refuse=lambda text: refuse_patch(shown_value, worded(text)),
        )
        _check_patched_name(request, obj)
        drop_doubled_owners(metadata_of(obj), request.warnings)
        return tracked(core, request, live, obj, options)

    return change


def refuse_patch(shown_value: str, text: str) -> status.ApiError:
    """The Status of a patch whose result is no object of the kind."""
    error = invalid("patch", shown_value, text)
    refusal = status.invalid("", "", "", [error])
    refusal.details = {"causes": (refusal.details or {})["causes"]}
    return refusal


def _keep_identity(resource: Resource, obj: Object) -> None:
    """The result of a strategic patch is of the kind it was, whatever the patch says."""
    for name, value in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        if isinstance(obj.get(name), str | None):
            obj[name] = value


def _check_patched_identity(resource: Resource, obj: Object, shown_value: str) -> None:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    group, _, version = str(api_version or "").rpartition("/")
    other = behaviour_of_kind(group, version, str(kind or ""))
    if other is None:
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise refuse_patch(shown_value, text)
    try:
        other.coerce(obj)
    except DecodeError as error:
        raise refuse_patch(shown_value, str(error)) from None
    text = f"converting ({version}.{kind}) to ({resource.go_name}): unknown conversion"
    raise refuse_patch(shown_value, text)


_MISFIT = re.compile(r"json: cannot unmarshal (\w+)(?: [\d.e+-]+)? into .* of type (.+)$")
_GO_TYPES = {
    "string": "string",
    "number": "int64",
    "bool": "bool",
    "object": "map[string]interface {}",
    "array": "[]interface {}",
}


def _as_converter_says(text: str) -> str:
    """A strategic patch is not decoded but converted, and the converter has words of its own."""
    found = _MISFIT.match(text)
    if found is None:
        return text
    given, wanted = found.groups()
    if wanted.startswith("map["):
        return f"cannot restore map from {given}"
    if wanted.startswith("[]"):
        return f"cannot restore slice from {given}"
    if "." in wanted:
        return f"cannot restore struct from: {given}"
    return f"cannot convert {_GO_TYPES[given]} to string" if wanted == "string" else f"unrecognized type: {wanted}"


def _check_patched_name(request: Request, obj: Object) -> None:
    metadata = metadata_of(obj)
    ensure_namespace(request, metadata)
    name = metadata.get("name") or ""
    if not name:
        raise nameless(request)
    if name != request.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({request.name})")


def _applied(core: Core, request: Request, options: WriteOptions) -> Change:
    resource, behaviour = request.resource, request.resource.behaviour
    try:
        decoded = decoding.decode_yaml(request.body, strict=options.validation != "Ignore")
    except decoding.MalformedError as error:
        prefix = "error converting YAML to JSON: " if isinstance(error, decoding.MalformedYamlError) else ""
        raise status.bad_request(f"error decoding YAML: {prefix}{error}") from None
    if decoding.is_too_deep(decoded.value):
        raise status.bad_request(f"error decoding YAML: {decoding.TOO_DEEP}")
    config: Any = {} if decoded.value is None else decoded.value
    if not is_object(config):
        text = f"json: cannot unmarshal {json_type(config)} into Go value of type map[string]interface {{}}"
        raise status.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {text}")

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
            raise conflict_status(error) from None
        except ApplyError as error:
            raise status.bad_request(str(error)) from None
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


def conflict_status(error: ApplyConflict) -> status.ApiError:
    """The Status that tells whose fields an apply would take."""
    causes = [
        {"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field} for cause in error.causes
    ]
    return status.ApiError(409, "Conflict", error.message, {"causes": causes})
