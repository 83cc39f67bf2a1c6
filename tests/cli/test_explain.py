"""What a refusal means for who typed the command: an exit code, and what to run next."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.cli.explain import explained
from rayward.kube.client.access import ConfigError
from rayward.kube.client.errors import from_status
from rayward.net.errors import ConnectFailed
from rayward.stack.errors import StackError


def _refusal(reason: str, code: int, message: str = "no", **details: Any) -> Exception:
    return from_status({"reason": reason, "message": message, "details": details}, code)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (_refusal("Invalid", 422), 3),
        (_refusal("BadRequest", 400), 3),
        (_refusal("NotFound", 404), 4),
        (_refusal("Conflict", 409), 5),
        (_refusal("AlreadyExists", 409), 5),
        (_refusal("Forbidden", 403), 6),
        (_refusal("Unauthorized", 401), 6),
        (_refusal("Forbidden", 403, "pods is forbidden: exceeded quota: small"), 7),
        (_refusal("TooManyRequests", 429), 10),
        (_refusal("InternalError", 500), 10),
        (_refusal("", 500, "failed to create typed patch object (x): .datas: field not declared in schema"), 3),
        (ConnectFailed("refused"), 10),
        (ConfigError("none"), 10),
        (StackError("a", "b", "c"), 10),
    ],
    ids=lambda value: f"{type(value).__name__}" if isinstance(value, Exception) else str(value),
)
def test_exit_codes(error: Exception, code: int) -> None:
    told = explained(error)
    assert told is not None
    assert told.code == code


def test_a_mistake_of_ours_is_not_explained_away() -> None:
    assert explained(KeyError("x")) is None


def test_every_field_that_is_wrong_is_named() -> None:
    causes = [{"reason": "FieldValueInvalid", "field": "spec.a", "message": "must be b"}]
    told = explained(_refusal("Invalid", 422, causes=causes))
    assert told is not None
    assert told.why == "spec.a: must be b"


def test_a_missing_object_says_how_to_find_others() -> None:
    told = explained(_refusal("NotFound", 404, kind="pods", name="x"))
    assert told is not None
    assert told.following == "rayward get pods -A"
