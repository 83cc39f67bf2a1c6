"""What a webhook is asked, and what its answer means: AdmissionReview v1."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import orjson

from rayward.kube.machinery.jsonvalue import is_object
from rayward.local.apiserver.attributes import Attributes, kind_of
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.status import ApiError

_NAMES: dict[type, str] = {dict: "object", list: "list", str: "text"}


class InvalidAnswerError(Exception):
    """The webhook answered something that is no AdmissionReview."""


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    result: Object
    patch: list[Object]
    warnings: tuple[str, ...]


def request_of(attributes: Attributes, uid: str) -> Object:
    """The ``request`` of a review, also what match conditions see."""
    resource = attributes.resource
    requested = attributes.requested or resource
    request: Object = {"uid": uid, "kind": _kind(resource, attributes), "resource": _place(resource)}
    if attributes.subresource:
        request["subResource"] = attributes.subresource
    request |= {"requestKind": _kind(requested, attributes), "requestResource": _place(requested)}
    if attributes.subresource:
        request["requestSubResource"] = attributes.subresource
    if attributes.name:
        request["name"] = attributes.name
    # a namespace is in itself
    namespace = attributes.name if resource.qualified_name == "namespaces" else attributes.namespace
    if namespace:
        request["namespace"] = namespace
    options = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
    return request | {
        "operation": attributes.operation,
        "userInfo": attributes.user.info(),
        "object": attributes.obj,
        "oldObject": attributes.old,
        "dryRun": attributes.dry_run,
        "options": {"kind": options[attributes.operation], "apiVersion": "meta.k8s.io/v1"} | attributes.options,
    }


def _kind(resource: Resource, attributes: Attributes) -> Object:
    return dict(zip(("group", "version", "kind"), kind_of(resource, attributes.subresource), strict=True))


def _place(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def encode(request: Object) -> bytes:
    """The body that is sent."""
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def decode(body: bytes, uid: str, *, mutating: bool) -> Verdict:
    """The decision in an answer. Raises InvalidAnswerError."""
    try:
        review: Any = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidAnswerError(f"couldn't get version/kind; json parse error: {error}") from None
    if not is_object(review) or review.get("kind") != "AdmissionReview":
        raise InvalidAnswerError("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview")
    answer = review.get("response")
    if not is_object(answer):
        raise InvalidAnswerError("webhook response was absent")
    if answer.get("uid") != uid:
        raise InvalidAnswerError(f'expected response.uid="{uid}", got "{answer.get("uid", "")}"')
    for field, kind in (("status", dict), ("warnings", list), ("patch", str)):
        if not isinstance(answer.get(field), kind | None):
            raise InvalidAnswerError(f"response.{field} is no {_NAMES[kind]}")
    encoded = answer.get("patch") or ""
    if encoded and not mutating:
        raise InvalidAnswerError("response.patch may not be set by a validating webhook")
    patch: list[Object] = []
    if encoded:
        if answer.get("patchType") != "JSONPatch":
            raise InvalidAnswerError(f'unsupported patch type "{answer.get("patchType", "")}"')
        try:
            patch = orjson.loads(base64.b64decode(encoded, validate=True))
        except (binascii.Error, ValueError) as error:
            raise InvalidAnswerError(f"undecodable patch: {error}") from None
    warnings: list[Any] = answer.get("warnings") or []
    allowed = answer.get("allowed") is True
    return Verdict(allowed, answer.get("status") or {}, patch, tuple(str(w) for w in warnings))


def denial(hook: str, result: Object) -> ApiError:
    """The failure that a refused request ends in."""
    denied = f'admission webhook "{hook}" denied the request'
    message, reason, details = result.get("message"), str(result.get("reason") or ""), result.get("details")
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    code = result.get("code")
    if not isinstance(code, int) or not 400 <= code < 600:
        code = 400
    return ApiError(code, reason, text, details if is_object(details) else None)
