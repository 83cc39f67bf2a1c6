"""What a schema has against a value, collected the way kube-apiserver's validator collects it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from rayward.kube.machinery import fielderror, gotext
from rayward.kube.machinery.fielderror import FieldError, Verbatim

NO_FIELD: Final = "<nil>"
"""How a path that names nothing is printed: junctors and number ranges do not say where they failed."""


class Kind(Enum):
    """What became of a finding decides how it is reported."""

    TYPE = auto()
    REQUIRED = auto()
    ENUM = auto()
    TOO_LONG = auto()
    TOO_MANY = auto()
    INVALID = auto()
    NOWHERE = auto()


@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint: ``path`` is relative to the validated value, ``text`` is the validator's own sentence."""

    kind: Kind
    path: str
    text: str
    value: Any = ""
    limit: Any = None

    def as_error(self, prefix: str) -> FieldError:
        """The complaint as a field error below ``prefix``."""
        name = self.path.removeprefix(".")
        where = ".".join(part for part in (prefix, name) if part) or NO_FIELD
        match self.kind:
            case Kind.REQUIRED:
                return fielderror.required(where)
            case Kind.ENUM:
                allowed = [v if isinstance(v, str) else gotext.json_text(v) for v in self.limit]
                return fielderror.not_supported(where, shown(self.value), allowed)
            case Kind.TOO_LONG:
                return fielderror.too_long(where, self.limit)
            case Kind.TOO_MANY:
                return fielderror.too_many(where, self.value, self.limit)
            case Kind.TYPE:
                return fielderror.type_invalid(where, self.value, self.text)
            case Kind.INVALID:
                return fielderror.invalid(where, "" if self.value is None else shown(self.value), self.text)
            case Kind.NOWHERE:
                return fielderror.invalid(prefix or NO_FIELD, "", self.text)


def shown(value: Any) -> Any:
    """A value for a field error, written as Go would write it."""
    if value.__class__ is float:
        return Verbatim(gotext.plain(value))
    return Verbatim(gotext.json_text(value)) if value.__class__ is dict or value.__class__ is list else value


@dataclass(slots=True)
class Findings:
    """A growing list that says nothing twice, and how many checks passed.

    The count picks, among alternatives that all failed, the one whose findings are worth showing.
    """

    found: list[Finding] = field(default_factory=list[Finding])
    passed: int = 0
    _said: set[str] = field(default_factory=set[str])

    def add(self, finding: Finding) -> None:
        """Adds a finding unless the same sentence is there already."""
        if finding.text not in self._said:
            self._said.add(finding.text)
            self.found.append(finding)

    def merge(self, other: Findings) -> None:
        """Takes over another list and its count."""
        self.passed += other.passed
        for finding in other.found:
            self.add(finding)


def as_errors(findings: Iterable[Finding], prefix: str) -> list[FieldError]:
    """All findings as field errors below ``prefix``."""
    return [finding.as_error(prefix) for finding in findings]


def wrong_type(path: str, expected: str, given: str) -> Finding:
    """The value has another type or format; ``given`` is both shown and quoted."""
    return Finding(Kind.TYPE, path, f"{path} in body must be of type {expected}: {gotext.quoted(given)}", given)


def missing(path: str) -> Finding:
    """A required field is absent."""
    return Finding(Kind.REQUIRED, path, f"{path} in body is required")


def not_in_enum(path: str, value: Any, allowed: list[Any]) -> Finding:
    """The value is none of those allowed."""
    return Finding(Kind.ENUM, path, f"{path} in body should be one of {gotext.plain(allowed)}", value, allowed)


def invalid(path: str, value: Any, complaint: str) -> Finding:
    """Any other complaint about a value."""
    return Finding(Kind.INVALID, path, f"{path} in body {complaint}", value)


def nowhere(text: str) -> Finding:
    """A complaint that the validator reports without a field."""
    return Finding(Kind.NOWHERE, "", text)
