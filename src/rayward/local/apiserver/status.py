"""Failures as Kubernetes says them: an ``ApiError`` becomes a ``Status`` with a code, a reason and causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.gotext import quoted
from rayward.local.apiserver.resource import Resource

Details = dict[str, Any]

MAX_BODY: Final = 3 * 1024 * 1024
_MOST_TEXT: Final = 1024 * 1024
OPTIMISTIC_LOCK: Final = "the object has been modified; please apply your changes to the latest version and try again"


class ApiError(Exception):
    """A request that ends in a failure Status."""

    def __init__(self, code: int, reason: str, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.continuation = ""
        """A continue token with which the caller may go on all the same."""

    def status(self) -> dict[str, Any]:
        """The Status object that tells the caller."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continuation} if self.continuation else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def success(code: int, details: Details) -> dict[str, Any]:
    """The Status of a deletion that left no object to show."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
        **({"code": code} if code != 200 else {}),
    }


def about(resource: Resource, name: str = "", *, kind: str = "") -> Details:
    """The details that name an object or a resource."""
    details: Details = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def bad_request(message: str) -> ApiError:
    """The request cannot be understood."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """No valid credentials came with the request."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    """The server understood and refuses."""
    what = f'{resource.qualified_name} "{name}"' if name else resource.qualified_name
    return ApiError(403, "Forbidden", f"{what} is forbidden: {why}", about(resource, name))


def not_found(resource: Resource, name: str) -> ApiError:
    """There is no such object."""
    return ApiError(404, "NotFound", f'{resource.qualified_name} "{name}" not found', about(resource, name))


def no_such_resource() -> ApiError:
    """There is no such resource in this group and version."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> ApiError:
    """The path exists but not with this HTTP method."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def already_exists(resource: Resource, name: str) -> ApiError:
    """An object of that name is there already."""
    text = f'{resource.qualified_name} "{name}" already exists'
    return ApiError(409, "AlreadyExists", text, about(resource, name))


def conflict(resource: Resource, name: str, why: str = OPTIMISTIC_LOCK) -> ApiError:
    """The object is not what the caller thought."""
    text = f'Operation cannot be fulfilled on {resource.qualified_name} "{name}": {why}'
    return ApiError(409, "Conflict", text, about(resource, name))


def expired(message: str) -> ApiError:
    """That part of history is compacted away."""
    return ApiError(410, "Expired", message)


def too_large() -> ApiError:
    """The body is past the limit."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY}")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    """The body is in a format the server does not read."""
    text = "the body of the request was in an unknown format - accepted media types include: "
    return ApiError(415, "UnsupportedMediaType", text + ", ".join(accepted))


def wrong_patch_type() -> ApiError:
    """A patch of a built-in kind in a format no patch has."""
    return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def not_acceptable_form(offered: Sequence[str]) -> ApiError:
    """The caller reads none of the formats that a built-in kind is written in."""
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}"
    return ApiError(406, "NotAcceptable", text, {})


def not_acceptable(offered: Sequence[str]) -> ApiError:
    """The caller reads none of the formats the server writes."""
    return ApiError(406, "NotAcceptable", "only the following media types are accepted: " + ", ".join(offered))


def _shown(errors: Sequence[FieldError]) -> tuple[Sequence[FieldError], int]:
    """As many as an answer has room for, and the number of the others: each of many may show a value of megabytes."""
    room = _MOST_TEXT
    for count, error in enumerate(errors):
        room -= len(str(error))
        if room < 0 and count:
            return errors[:count], len(errors) - count
    return errors, 0


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """The object is understood and wrong; one cause for each field."""
    errors, left = _shown(errors)
    texts = list(dict.fromkeys(str(error) for error in errors))
    texts += [f"and {left} more"] if left else []
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: Details = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [{"reason": str(e.reason), "message": e.body, "field": e.field} for e in errors]
    qualified = f"{kind}.{group}" if group else kind
    return ApiError(422, "Invalid", f"{qualified} {quoted(name)} is invalid: {summary}", details)


def too_large_resource_version(asked: int, current: int) -> ApiError:
    """The caller has seen a future that this server has not."""
    details: Details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiError(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {current}", details)


def unavailable(message: str) -> ApiError:
    """The server cannot answer now and may later."""
    return ApiError(503, "ServiceUnavailable", message, {"retryAfterSeconds": 1})


def too_many_requests() -> ApiError:
    """More writes wait for the disk than the server may hold."""
    text = "Too many requests, please try again later."
    return ApiError(429, "TooManyRequests", text, {"retryAfterSeconds": 1})


def internal(message: str) -> ApiError:
    """Something in the server, or in what it depends on, went wrong."""
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})
