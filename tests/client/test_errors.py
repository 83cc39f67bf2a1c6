from __future__ import annotations

from typing import Any

import orjson
import pytest

from rayward.kube.client import errors
from rayward.kube.client.errors import ApiError, Cause, from_answer, from_status


def status(code: int, reason: str = "", message: str = "no", **details: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


@pytest.mark.parametrize(
    ("code", "reason", "kind", "retryable"),
    [
        (400, "BadRequest", errors.BadRequest, False),
        (401, "Unauthorized", errors.Unauthorized, False),
        (403, "Forbidden", errors.Forbidden, False),
        (404, "NotFound", errors.NotFound, False),
        (405, "MethodNotAllowed", errors.MethodNotAllowed, False),
        (406, "NotAcceptable", errors.NotAcceptable, False),
        (409, "AlreadyExists", errors.AlreadyExists, False),
        (409, "Conflict", errors.Conflict, False),
        (410, "Gone", errors.Gone, False),
        (410, "Expired", errors.Expired, False),
        (413, "RequestEntityTooLarge", errors.RequestTooLarge, False),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType, False),
        (422, "Invalid", errors.Invalid, False),
        (429, "TooManyRequests", errors.TooManyRequests, True),
        (500, "InternalError", errors.InternalError, True),
        (500, "ServerTimeout", errors.ServerTimeout, True),
        (503, "ServiceUnavailable", errors.ServiceUnavailable, True),
        (504, "Timeout", errors.Timeout, True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reason_decides_the_kind(code: int, reason: str, kind: type[ApiError], retryable: bool) -> None:
    error = from_answer(code, {}, orjson.dumps(status(code, reason, "what is wrong")), "GET /x")
    assert (type(error), error.code, error.reason, str(error)) == (kind, code, reason, "what is wrong")
    assert error.retryable is retryable


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.Gone),
        (502, errors.ServiceUnavailable),
        (418, ApiError),
        (599, errors.InternalError),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>no</html>", b'{"some": "json"}', b"[1]", b"\xff\xfe", orjson.dumps(status(0, "OfTheFuture"))],
    ids=["nothing", "html", "other json", "list", "no text", "unknown reason"],
)
def test_without_a_known_reason_the_code_decides(code: int, kind: type[ApiError], body: bytes) -> None:
    error = from_answer(code, {}, body, "GET /x")
    if b"OfTheFuture" in body and code == 599:
        kind = ApiError
    assert type(error) is kind
    assert error.code == code


def test_an_answer_that_is_no_status_names_the_request() -> None:
    assert str(from_answer(502, {}, b"bad gateway\n", "GET /x")) == "GET /x: the server answered 502: bad gateway"


def test_causes_name_fields() -> None:
    causes = [
        {"reason": "FieldValueRequired", "field": "spec.a", "message": "Required value"},
        {"message": "only words"},
        "nonsense",
    ]
    error = from_status(status(422, "Invalid", causes=causes))
    assert error.causes == (
        Cause("FieldValueRequired", "spec.a", "Required value"),
        Cause("", "", "only words"),
        Cause("", "", ""),
    )
    assert error.has_cause("FieldValueRequired")
    assert not error.has_cause("FieldValueInvalid")


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        pytest.param({"retry-after": "3"}, {}, 3.0, id="header"),
        pytest.param({}, {"retryAfterSeconds": 2}, 2.0, id="details"),
        pytest.param({"retry-after": "3"}, {"retryAfterSeconds": 9}, 3.0, id="the header wins"),
        pytest.param({"retry-after": "0"}, {}, None, id="zero says nothing"),
        pytest.param({"retry-after": "Fri, 31 Dec"}, {}, None, id="a date"),
        pytest.param({"retry-after": "-1"}, {"retryAfterSeconds": "x"}, None, id="nonsense"),
        pytest.param({}, {}, None, id="none"),
    ],
)
def test_retry_after(headers: dict[str, str], details: dict[str, Any], seconds: float | None) -> None:
    body = orjson.dumps(status(429, "TooManyRequests", **details))
    assert from_answer(429, headers, body, "").retry_after == seconds


@pytest.mark.parametrize(
    ("given", "too_large"),
    [
        pytest.param(
            status(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge", "message": "m"}]), True, id="cause"
        ),
        pytest.param(status(504, "Timeout", "Timeout: Too large resource version: 9, current: 1"), True, id="words"),
        pytest.param(status(504, "Timeout"), False, id="another timeout"),
    ],
)
def test_a_version_of_the_future(given: dict[str, Any], too_large: bool) -> None:
    error = from_status(given)
    assert isinstance(error, errors.Timeout)
    assert error.version_too_large is too_large
