"""What is wrong with one field, in Kubernetes' own words.

A list of these becomes ``details.causes`` of an Invalid ``Status``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rayward.kube.machinery.gotext import quoted


class Reason(StrEnum):
    """Why a field was refused; the value is the ``reason`` of a Status cause."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_TITLES: Final = {
    Reason.NOT_FOUND: "Not found",
    Reason.REQUIRED: "Required value",
    Reason.DUPLICATE: "Duplicate value",
    Reason.INVALID: "Invalid value",
    Reason.NOT_SUPPORTED: "Unsupported value",
    Reason.FORBIDDEN: "Forbidden",
    Reason.TOO_LONG: "Too long",
    Reason.TOO_MANY: "Too many",
    Reason.INTERNAL: "Internal error",
    Reason.TYPE_INVALID: "Invalid value",
}
_WITHOUT_VALUE: Final = frozenset({Reason.REQUIRED, Reason.FORBIDDEN, Reason.TOO_LONG, Reason.INTERNAL})

OMIT: Final[Any] = object()
"""A bad value that the message must not show."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A bad value that is shown in words of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field: ``field`` is a path such as ``spec.ports[0].name``."""

    reason: Reason
    field: str
    value: Any = OMIT
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the path, as in a Status cause."""
        text = _TITLES[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not OMIT:
            text = f"{text}: {_shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if value is None:
        return "null"
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def required(field: str, detail: str = "") -> FieldError:
    """The field is missing or empty."""
    return FieldError(Reason.REQUIRED, field, OMIT, detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value is not allowed for the reason in ``detail``."""
    return FieldError(Reason.INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value has the wrong JSON type."""
    return FieldError(Reason.TYPE_INVALID, field, value, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """The field may not be set, or not be changed, here."""
    return FieldError(Reason.FORBIDDEN, field, OMIT, detail)


def duplicate(field: str, value: Any) -> FieldError:
    """The value occurs twice where it must be unique."""
    return FieldError(Reason.DUPLICATE, field, value)


def not_found(field: str, value: Any) -> FieldError:
    """The value names something that does not exist."""
    return FieldError(Reason.NOT_FOUND, field, value)


def not_supported(field: str, value: Any, supported: list[str]) -> FieldError:
    """The value is not one of the listed ones."""
    detail = "supported values: " + ", ".join(json.dumps(s, ensure_ascii=False) for s in supported) if supported else ""
    return FieldError(Reason.NOT_SUPPORTED, field, value, detail)


def too_long(field: str, limit: int) -> FieldError:
    """The text is longer than ``limit`` bytes."""
    return FieldError(Reason.TOO_LONG, field, OMIT, f"may not be more than {limit} byte{'' if limit == 1 else 's'}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """The list or map has more than ``limit`` entries."""
    return FieldError(Reason.TOO_MANY, field, actual, f"must have at most {limit} item{'' if limit == 1 else 's'}")
