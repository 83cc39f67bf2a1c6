"""The object in a request body, decoded for the resource it was sent to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from rayward.kube.machinery import decoding
from rayward.kube.machinery.fielderror import invalid
from rayward.kube.machinery.jsonvalue import is_object
from rayward.local.apiserver import recorded, requestbody, status
from rayward.local.apiserver.behaviour import DecodeError, Object
from rayward.local.apiserver.builtin import behaviour_of_kind
from rayward.local.apiserver.options import WriteOptions
from rayward.local.apiserver.protobuf import ProtobufError
from rayward.local.apiserver.protobuf import decode as decode_protobuf
from rayward.local.apiserver.request import Request
from rayward.local.apiserver.resource import Resource

_SHOWN = 30
_MOST_COMPLAINTS = 100
_ROUNDED = re.compile(r"number -?[\d.]+e\+")
_UNREADABLE = "couldn't get version/kind; json parse error: "
_IDENTITY = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def object_in(request: Request, options: WriteOptions) -> Object:
    """The body of a create or update as an object of the resource's kind, defaulted, unknown fields settled."""
    resource = request.resource
    try:
        decoded = requestbody.decode(
            request.body,
            request.header(b"content-type"),
            strict=options.validation != "Ignore",
            protobuf=_protobuf_reader(resource) if resource.builtin else None,
        )
    except decoding.MalformedYamlError as error:
        raise _unrecognized(resource, str(error), request.body) from None
    except decoding.MalformedError as error:
        raise _unrecognized(resource, _UNREADABLE + str(error), request.body) from None
    except ProtobufError as error:
        raise _unreadable_protobuf(resource, error, request.body) from None
    obj: Any = {} if decoded.value is None else decoded.value
    if not is_object(obj):
        text = f"{_UNREADABLE}json: cannot unmarshal {json_type(obj)} into Go value of type {_IDENTITY}"
        raise _unrecognized(resource, text, request.body)
    check_identity(resource, obj, request.body)
    refuse = _refuser(resource, request.body)
    try:
        settle(resource, obj, options, request.warnings, decoded.strict, refuse=refuse)
    except RecursionError:
        raise refuse(decoding.TOO_DEEP) from None
    if decoding.is_too_deep(obj):
        raise refuse(decoding.TOO_DEEP)
    return obj


def _protobuf_reader(resource: Resource) -> Callable[[bytes], Object]:
    return lambda data: decode_protobuf(data, resource.api_version, resource.kind)


def _unreadable_protobuf(resource: Resource, error: ProtobufError, raw: bytes) -> status.ApiError:
    if not error.kind:
        return _unrecognized(resource, str(error), raw)
    version = error.api_version.rpartition("/")[2]
    return status.bad_request(f'{error.kind} in version "{version}" cannot be handled as a {resource.kind}: {error}')


def body_of(request: Request, group: str, kind: str) -> Object:
    """The body of a request that is about another object: a binding, an eviction, a token."""
    content_type = request.header(b"content-type")
    try:
        given = requestbody.decode(request.body, content_type, strict=False, protobuf=decode_protobuf).value
    except (decoding.MalformedError, ProtobufError) as error:
        raise status.bad_request(str(error)) from None
    if not is_object(given):
        raise status.bad_request("the body of the request is no object")
    shape(
        given,
        group,
        kind,
        lambda text: status.bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {text}'),
    )
    return given


def shape(obj: Object, group: str, kind: str, refuse: Callable[[str], status.ApiError]) -> None:
    """Bring an object that is no stored one into the shape of its kind."""
    behaviour = behaviour_of_kind(group, "v1", kind)
    assert behaviour is not None
    try:
        behaviour.coerce(obj)
    except DecodeError as error:
        raise refuse(str(error)) from None


def check_identity(resource: Resource, obj: Object, raw: bytes) -> None:
    """The body's apiVersion and kind must be the endpoint's; what a built-in kind leaves out is filled in."""
    for field in ("kind", "apiVersion"):
        value = obj.get(field)
        if value is not None and not isinstance(value, str):
            text = (
                f"{_UNREADABLE}json: cannot unmarshal {json_type(value)} into Go struct field .{field} of type string"
            )
            raise _unrecognized(resource, text, raw)
    if resource.builtin:
        obj["apiVersion"] = obj.get("apiVersion") or resource.api_version
        obj["kind"] = obj.get("kind") or resource.kind
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    if not resource.builtin:
        raise _wrong_custom_identity(resource, obj, raw)
    group, _, version = api_version.rpartition("/")
    if recorded.type_name(group, version, kind) is None:
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
    else:
        family = resource.group.partition(".")[0] or "core"
        text = f"converting ({version}.{kind}) to ({family}.{resource.kind}): unknown conversion"
    raise status.bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {text}')


def _wrong_custom_identity(resource: Resource, obj: Object, raw: bytes) -> status.ApiError:
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    for field, value in (("Kind", kind), ("apiVersion", api_version)):
        if not value:
            shown = raw.decode(errors="replace")
            return _unrecognized(resource, f"Object '{field}' is missing in '{shown}'", raw)
    if api_version != resource.api_version:
        text = f"the API version in the data ({api_version}) does not match the expected API version"
        return status.bad_request(f"{text} ({resource.api_version})")
    metadata: Any = obj.get("metadata")
    if metadata is not None and not is_object(metadata):
        text = f"json: cannot unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta"
        return _refuser(resource, raw, kind)(text)
    name = str((metadata or {}).get("name") or "")
    return status.invalid(resource.group, kind, name, [invalid("kind", kind, f"must be {resource.kind}")])


def settle(
    resource: Resource,
    obj: Object,
    options: WriteOptions,
    warnings: list[str],
    doubled: list[str],
    *,
    refuse: Callable[[str], status.ApiError],
) -> None:
    """Bring the object into the kind's shape; unknown and doubled fields are refused, warned of or passed over."""
    try:
        unknown = resource.behaviour.coerce(obj)
    except DecodeError as error:
        raise refuse(str(error)) from None
    if options.validation != "Ignore" and (unknown or doubled):
        complaints = [*doubled, *(f'unknown field "{path}"' for path in unknown)]
        if resource.builtin:
            complaints = complaints[:_MOST_COMPLAINTS]
        if options.validation == "Strict":
            yaml_doubles = bool(doubled) and doubled[0].startswith("line ")
            prefix = "yaml: unmarshal errors:\n  " if yaml_doubles else ""
            raise refuse(f"strict decoding error: {prefix}" + ", ".join(complaints))
        warnings.extend(complaints)
    resource.behaviour.default(obj)


def _refuser(resource: Resource, raw: bytes, kind: str = "") -> Callable[[str], status.ApiError]:
    def refuse(text: str) -> status.ApiError:
        if _ROUNDED.search(text):
            text = _exactly(resource, raw) or text
        given = kind or resource.kind
        return status.bad_request(
            f'{given} in version "{resource.version}" cannot be handled as a {resource.kind}: {text}'
        )

    return refuse


def _exactly(resource: Resource, raw: bytes) -> str:
    """The same refusal with the number as it was written: the fast decoder rounds what no 64 bits hold."""
    try:
        resource.behaviour.coerce(json.loads(raw))
    except DecodeError as error:
        return str(error)
    except (ValueError, RecursionError):
        return ""
    return ""


def _unrecognized(resource: Resource, text: str, raw: bytes) -> status.ApiError:
    return status.bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {text} ({_summary(raw)})"
    )


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    start = raw[:_SHOWN]
    shown = start.decode(errors="replace") if raw[:1] == b"{" else start.hex()
    return f"{shown} ..." if len(raw) > _SHOWN else shown


def json_type(value: Any) -> str:
    """What Go calls the type of a JSON value."""
    if isinstance(value, bool):
        return "bool"
    names: dict[type, str] = {list: "array", str: "string", int: "number", float: "number", dict: "object"}
    return "null" if value is None else names[type(value)]
