"""What every answer must be, whatever was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request as it goes out."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = "application/json"

    def __str__(self) -> str:
        shown = "" if self.body is None else f" {self.content_type} {self.body[:1500]!r}"
        return f"{self.method} {self.path}{shown}"


@dataclass(frozen=True)
class Answered:
    """What came back; of a stream only how it began."""

    code: int
    content_type: str
    body: bytes
    streams: bool = False


def fault(asked: Asked, answered: Answered) -> str:
    """What is wrong with an answer, or nothing."""
    if answered.code >= 500 and not _asks_for_the_future(answered) and not _asks_nobody(asked, answered):
        return f"{answered.code}: {answered.body[:500]!r}"
    if answered.streams:
        return "" if asked.method == "GET" and "watch=" in asked.path else "an answer without an end"
    if answered.code == 200 and "/log" in asked.path:
        return ""
    if answered.code == 404 and answered.content_type.startswith("text/plain"):
        # no resource has such a path: a name with a slash in it
        return "" if "%2F" in asked.path or "//" in asked.path else f"a page, not a Status: {answered.body[:200]!r}"
    value = _decoded(answered.body)
    if not isinstance(value, dict):
        return f"{answered.code} is no JSON object: {answered.body[:200]!r}"
    return _refusal_fault(answered.code, value) if answered.code >= 400 else _success_fault(value)


def _asks_for_the_future(answered: Answered) -> bool:
    """A resourceVersion to come is waited for and then times out, on every API server."""
    return answered.code == 504 and b"Too large resource version" in answered.body


def _asks_nobody(asked: Asked, answered: Answered) -> bool:
    """Behind a service without pods nobody answers, on every API server."""
    return answered.code == 503 and "/proxy" in asked.path and b"no endpoints available for service" in answered.body


def _refusal_fault(code: int, value: dict[str, Any]) -> str:
    expected = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    wrong = {name: value.get(name) for name, right in expected.items() if value.get(name) != right}
    if wrong:
        return f"{code} is not a Status of a failure: {wrong}"
    if not isinstance(value.get("message"), str) or not isinstance(value.get("reason"), str):
        return f"{code} says not why: {value}"
    details = value.get("details", {})
    if value["reason"] == "Invalid" and details and not details.get("causes"):
        # a JSON patch that cannot be applied is about no field, and has no details at all
        return f"{code} names no field: {value}"
    return ""


def _success_fault(value: dict[str, Any]) -> str:
    if not value.get("kind") or not value.get("apiVersion"):
        return f"an answer without its kind: {str(value)[:200]}"
    return ""


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
