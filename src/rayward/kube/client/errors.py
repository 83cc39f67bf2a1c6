"""What an API server refuses, by what the caller does next.

ApiError
├── BadRequest, MethodNotAllowed, NotAcceptable, UnsupportedMediaType, RequestTooLarge   mend the request
├── Invalid                mend the object: ``causes`` name the fields
├── Unauthorized           get other credentials
├── Forbidden              ask for the right, or for quota
├── NotFound               it is not there (any more)
├── AlreadyExists          take the one that is there
├── Conflict               read again, decide again; for server-side apply ``causes`` name the owners
├── Gone
│   └── Expired            list again
├── TooManyRequests, ServerTimeout, ServiceUnavailable, Timeout, InternalError           try again later
"""

# ruff: noqa: N818 - the names are the reasons of Kubernetes
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec
import orjson

from rayward.kube.client.values import as_dict, as_list, as_str

_SHOWN: Final = 200
TOO_LARGE_VERSION: Final = "ResourceVersionTooLarge"


class Cause(msgspec.Struct, frozen=True):
    """One of several reasons, mostly about one field."""

    reason: str
    field: str
    message: str


class ApiError(Exception):
    """An answer that says no. ``status`` is the Status object as the server sent it."""

    retryable: ClassVar[bool] = False
    """Whether the same request may succeed later."""

    def __init__(self, code: int, reason: str, message: str, status: dict[str, Any], retry_after: float | None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.status = status
        self.retry_after = retry_after

    @property
    def details(self) -> dict[str, Any]:
        """What the error is about: ``name``, ``group``, ``kind``, ``uid``."""
        return as_dict(self.status.get("details"))

    @property
    def causes(self) -> tuple[Cause, ...]:
        found = as_list(self.details.get("causes"))
        return tuple(
            Cause(as_str(cause.get("reason")), as_str(cause.get("field")), as_str(cause.get("message")))
            for cause in map(as_dict, found)
        )

    def has_cause(self, reason: str) -> bool:
        """Whether one of the causes has this reason."""
        return any(cause.reason == reason for cause in self.causes)


class BadRequest(ApiError):
    """The server could not understand the request."""


class Unauthorized(ApiError):
    """The credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """The user may not do this, or a policy or quota is against it."""


class NotFound(ApiError):
    """There is no such object, or no such kind."""


class MethodNotAllowed(ApiError):
    """The kind does not have this verb."""


class NotAcceptable(ApiError):
    """The server cannot answer in any form that was asked for."""


class AlreadyExists(ApiError):
    """The name is taken."""


class Conflict(ApiError):
    """The object changed meanwhile, or another manager owns a field."""


class Gone(ApiError):
    """What was asked for is gone for good."""


class Expired(Gone):
    """The resourceVersion or the continue token is too old."""


class RequestTooLarge(ApiError):
    """The body is larger than the server accepts."""


class UnsupportedMediaType(ApiError):
    """The server does not read this content type here."""


class Invalid(ApiError):
    """Fields of the object are wrong."""


class TooManyRequests(ApiError):
    """The server, or a disruption budget, asks to wait."""

    retryable = True


class InternalError(ApiError):
    retryable = True


class ServerTimeout(ApiError):
    """The server could not finish in time and knows that a new try may work."""

    retryable = True


class ServiceUnavailable(ApiError):
    """The server, or one behind it, is not there at the moment."""

    retryable = True


class Timeout(ApiError):
    """The server gave up waiting."""

    retryable = True

    @property
    def version_too_large(self) -> bool:
        """Whether the server has not reached the resourceVersion that was asked for."""
        return self.has_cause(TOO_LARGE_VERSION) or "Too large resource version" in self.message


_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Gone,
    "Expired": Expired,
    "RequestEntityTooLarge": RequestTooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": InternalError,
    "StoreReadError": InternalError,
    "ServerTimeout": ServerTimeout,
    "ServiceUnavailable": ServiceUnavailable,
    "Timeout": Timeout,
}
_BY_CODE: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    502: "ServiceUnavailable",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def from_answer(code: int, headers: Mapping[str, str], body: bytes, asked: str) -> ApiError:
    """The error that an answer of 400 and above is; ``asked`` names the request where the answer is no Status."""
    try:
        parsed: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    status = as_dict(parsed)
    if status.get("kind") != "Status":
        text = body[:_SHOWN].decode(errors="replace").strip()
        status = {"message": f"{asked}: the server answered {code}" + (f": {text}" if text else "")}
    return from_status(status, code, _seconds(headers.get("retry-after")))


def from_status(status: dict[str, Any], code: int = 0, retry_after: float | None = None) -> ApiError:
    """The error that a Status object is."""
    stated = status.get("code")
    code = code or (stated if isinstance(stated, int) else 500)
    reason = as_str(status.get("reason")) or _BY_CODE.get(code, "InternalError" if code >= 500 else "Unknown")
    kind = _BY_REASON.get(reason) or _BY_REASON.get(_BY_CODE.get(code, ""), ApiError)
    if retry_after is None:
        retry_after = _seconds(as_dict(status.get("details")).get("retryAfterSeconds"))
    message = as_str(status.get("message")) or f"the server answered {code} {reason}"
    return kind(code, reason, message, status, retry_after)


def _seconds(value: Any) -> float | None:
    # Retry-After may also be a date; API servers do not send that.
    text = str(value) if isinstance(value, str | int) else ""
    return float(text) if text.isascii() and text.isdigit() and text != "0" else None
