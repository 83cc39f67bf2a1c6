"""CEL's values that Python has no class for, and the errors of evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final


class EvaluationError(Exception):
    """Evaluating an expression failed; the text is cel-go's."""


class NoSuchOverloadError(EvaluationError):
    """An operator or function met a type it does not take."""

    def __init__(self, what: str = "no such overload") -> None:
        super().__init__(what)


class BudgetExceededError(Exception):
    """The evaluation cost more than it may."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds."""

    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970; the offset from UTC in seconds only says how to print it."""

    nanoseconds: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what ``type(x)`` gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Any = None
    present: bool = True


NONE: Final = Optional(present=False)

MAX_INT: Final = 2**63 - 1
MIN_INT: Final = -(2**63)
MAX_UINT: Final = 2**64 - 1


def checked_int(value: int) -> int:
    """A signed result, or the overflow error."""
    if MIN_INT <= value <= MAX_INT:
        return value
    raise EvaluationError("integer overflow")


def checked_uint(value: int) -> Uint:
    """An unsigned result, or the overflow error."""
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def checked_duration(nanoseconds: int) -> Duration:
    """A duration that fits 64 bits, or the overflow error."""
    if MIN_INT <= nanoseconds <= MAX_INT:
        return Duration(nanoseconds)
    raise EvaluationError("integer overflow")
