"""The object in a request body, decoded for the resource it was sent to."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Any

from rayward.kube.machinery.jsonvalue import is_object
from rayward.local.apiserver import body, status
from rayward.local.apiserver.behaviour import DecodeError, Object
from rayward.local.apiserver.options import WriteOptions
from rayward.local.apiserver.protobuf import ProtobufError
from rayward.local.apiserver.protobuf import decode as decode_protobuf
from rayward.local.apiserver.request import Request
from rayward.local.apiserver.resource import Resource


def object_in(request: Request, options: WriteOptions) -> Object:
    """The body of a create or update as an object of the resource's kind, defaulted, unknown fields settled."""
    resource = request.resource
    try:
        decoded = body.decode(
            request.body,
            request.header(b"content-type"),
            strict=options.validation != "Ignore",
            protobuf=decode_protobuf if resource.builtin else None,
        )
    except body.MalformedError as error:
        text = f"couldn't get version/kind; json parse error: {error}"
        raise _unrecognized(resource, text, request.body) from None
    except ProtobufError as error:
        raise _unrecognized(resource, str(error), request.body) from None
    obj = decoded.value
    if not is_object(obj):
        text = f"json: cannot unmarshal {json_type(obj)} into Go value of type struct"
        raise _unrecognized(resource, text, request.body)
    check_identity(resource, obj, request.body)
    settle(resource, obj, options, request.warnings, decoded.strict, refuse=_refuser(resource))
    return obj


def check_identity(resource: Resource, obj: Object, raw: bytes) -> None:
    """The body's apiVersion and kind must be the endpoint's; what a built-in kind leaves out is filled in."""
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if resource.builtin:
        api_version = obj.setdefault("apiVersion", resource.api_version) or resource.api_version
        kind = obj.setdefault("kind", resource.kind) or resource.kind
        obj["apiVersion"], obj["kind"] = api_version, kind
    shown = raw[:1024].decode(errors="replace")
    if not kind:
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"Object 'Kind' is missing in '{shown}' ({_hex(raw)})"
        )
    if not api_version:
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"Object 'apiVersion' is missing in '{shown}' ({_hex(raw)})"
        )
    if kind != resource.kind:
        group, _, version = str(api_version).rpartition("/")
        raise status.bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: '
            f"converting ({group}.{kind}).{version} to ({resource.kind}): unknown conversion"
        )
    if api_version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )


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
        if options.validation == "Strict":
            raise refuse("strict decoding error: " + ", ".join(complaints))
        warnings.extend(complaints)
    resource.behaviour.default(obj)


def _refuser(resource: Resource) -> Callable[[str], status.ApiError]:
    def refuse(text: str) -> status.ApiError:
        return status.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {text}'
        )

    return refuse


def _unrecognized(resource: Resource, text: str, raw: bytes) -> status.ApiError:
    return status.bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {text} ({_hex(raw)})"
    )


def _hex(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    shown = binascii.hexlify(raw[:30]).decode()
    return f"{shown} ..." if len(raw) > 30 else shown


def json_type(value: Any) -> str:
    """What Go calls the type of a JSON value."""
    if isinstance(value, bool):
        return "bool"
    return {list: "array", str: "string", int: "number", float: "number", type(None): "null"}.get(type(value), "value")
