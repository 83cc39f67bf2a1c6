"""CEL's operators on values: equality, order, arithmetic and conversions."""

from __future__ import annotations

import math
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.cel import network, times
from rayward.kube.machinery.cel.network import Network
from rayward.kube.machinery.cel.values import (
    Duration,
    EvaluationError,
    NoSuchOverloadError,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    checked_duration,
    checked_int,
    checked_uint,
)
from rayward.kube.machinery.quantity import Quantity

_NUMBERS: Final = frozenset({int, float, Uint})
_ORDERED: Final = frozenset({str, bytes, bool, Timestamp, Duration})
_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
    IPv4Address: "net.IP",
    IPv6Address: "net.IP",
    Network: "net.CIDR",
}


def equal(one: Any, other: Any) -> bool:
    """Equality over all types; values of different kinds are simply not equal."""
    kind, other_kind = one.__class__, other.__class__
    if kind is other_kind:
        if kind is dict:
            return len(one) == len(other) and all(
                name in other and equal(value, other[name]) for name, value in one.items()
            )
        if kind is list:
            return len(one) == len(other) and all(map(equal, one, other))
        if kind is Optional:
            return one.present == other.present and equal(one.value, other.value)
        return one == other
    return kind in _NUMBERS and other_kind in _NUMBERS and one == other


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1; numbers of all types compare with each other."""
    kind, other_kind = one.__class__, other.__class__
    if (kind is other_kind and kind in _ORDERED) or (kind in _NUMBERS and other_kind in _NUMBERS):
        if one != one or other != other:
            raise EvaluationError("NaN values cannot be ordered")
        return -1 if one < other else int(one > other)
    raise NoSuchOverloadError


def add(one: Any, other: Any) -> Any:
    """``+``."""
    kind = one.__class__
    if kind is other.__class__:
        if kind is int:
            return checked_int(one + other)
        if kind is str or kind is list or kind is bytes or kind is float:
            return one + other
        if kind is Uint:
            return checked_uint(int(one) + int(other))
        if kind is Duration:
            return checked_duration(one.nanoseconds + other.nanoseconds)
    elif kind is Timestamp and other.__class__ is Duration:
        return times.add(one, other)
    elif kind is Duration and other.__class__ is Timestamp:
        return times.add(other, one)
    raise NoSuchOverloadError


def subtract(one: Any, other: Any) -> Any:
    """``-``."""
    kind = one.__class__
    if kind is other.__class__:
        if kind is int:
            return checked_int(one - other)
        if kind is float:
            return one - other
        if kind is Uint:
            return checked_uint(int(one) - int(other))
        if kind is Duration:
            return checked_duration(one.nanoseconds - other.nanoseconds)
        if kind is Timestamp:
            return times.between(one, other)
    elif kind is Timestamp and other.__class__ is Duration:
        return times.add(one, Duration(-other.nanoseconds))
    raise NoSuchOverloadError


def multiply(one: Any, other: Any) -> Any:
    """``*``."""
    kind = one.__class__
    if kind is not other.__class__ or kind not in _NUMBERS:
        raise NoSuchOverloadError
    if kind is float:
        return one * other
    return checked_int(one * other) if kind is int else checked_uint(int(one) * int(other))


def divide(one: Any, other: Any) -> Any:
    """``/``; whole numbers are cut towards zero."""
    kind = one.__class__
    if kind is not other.__class__ or kind not in _NUMBERS:
        raise NoSuchOverloadError
    if kind is float:
        if other:
            return one / other
        return math.nan if one == 0 or one != one else math.copysign(math.inf, one) * math.copysign(1, other)
    if not other:
        raise EvaluationError("division by zero")
    if kind is Uint:
        return Uint(int(one) // int(other))
    whole = abs(one) // abs(other)
    return checked_int(whole if (one < 0) == (other < 0) else -whole)


def modulo(one: Any, other: Any) -> Any:
    """``%``; the sign is that of the left side."""
    kind = one.__class__
    if kind is not other.__class__ or kind not in (int, Uint):
        raise NoSuchOverloadError
    if not other:
        raise EvaluationError("modulus by zero")
    rest = abs(int(one)) % abs(int(other))
    return Uint(rest) if kind is Uint else (-rest if one < 0 else rest)


def negate(one: Any) -> Any:
    """Unary ``-``."""
    kind = one.__class__
    if kind is int:
        return checked_int(-one)
    if kind is float:
        return -one
    if kind is Duration:
        return checked_duration(-one.nanoseconds)
    raise NoSuchOverloadError


def type_of(value: Any) -> TypeValue:
    """``type()``."""
    return TypeValue(_TYPE_NAMES.get(value.__class__, "dyn"))


def to_int(value: Any) -> int:
    """``int()``."""
    kind = value.__class__
    if kind is int:
        return value
    if kind is Uint:
        return checked_int(int(value))
    if kind is float:
        if not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("integer overflow")
        return int(value)
    if kind is str:
        return _parse_whole(value, -(2**63), 2**63 - 1, "int")
    if kind is Timestamp:
        return value.nanoseconds // 1_000_000_000
    raise NoSuchOverloadError


def to_uint(value: Any) -> Uint:
    """``uint()``."""
    kind = value.__class__
    if kind is Uint:
        return value
    if kind is int:
        return checked_uint(value)
    if kind is float:
        if not 0 <= value < 2.0**64:
            raise EvaluationError("unsigned integer overflow")
        return Uint(int(value))
    if kind is str:
        return Uint(_parse_whole(value, 0, 2**64 - 1, "uint"))
    raise NoSuchOverloadError


def _parse_whole(text: str, least: int, most: int, kind: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") and least < 0 else text
    if digits.isascii() and digits.isdigit() and len(digits) <= 64 and least <= int(text) <= most:
        return int(text)
    raise _no_conversion(kind)


def _no_conversion(kind: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{kind}'")


def to_double(value: Any) -> float:
    """``double()``."""
    if value.__class__ in _NUMBERS:
        return float(value)
    if value.__class__ is not str:
        raise NoSuchOverloadError
    if len(value) > 1024 or "_" in value or value != value.strip():
        raise _no_conversion("double")
    try:
        return float(value)
    except ValueError:
        raise _no_conversion("double") from None


_TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def to_bool(value: Any) -> bool:
    """``bool()``."""
    if value.__class__ is bool:
        return value
    if value.__class__ is str:
        if value in _TRUTHS:
            return _TRUTHS[value]
        raise _no_conversion("bool")
    raise NoSuchOverloadError


def to_string(value: Any) -> str:
    """``string()``."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return gotext.plain(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Timestamp():
            return times.format_timestamp(value)
        case Duration():
            return times.format_duration(value)
        case IPv4Address() | IPv6Address():
            return network.text_of(value)
        case Network():
            return str(value)
        case _:
            raise NoSuchOverloadError


def to_bytes(value: Any) -> bytes:
    """``bytes()``."""
    if value.__class__ is bytes:
        return value
    if value.__class__ is str:
        return value.encode()
    raise NoSuchOverloadError


def to_timestamp(value: Any) -> Timestamp:
    """``timestamp()``."""
    if value.__class__ is Timestamp:
        return value
    if value.__class__ is str:
        return times.parse_timestamp(value)
    if value.__class__ is int:
        return times.checked_timestamp(value * 1_000_000_000)
    raise NoSuchOverloadError


def to_duration(value: Any) -> Duration:
    """``duration()``."""
    if value.__class__ is Duration:
        return value
    if value.__class__ is str:
        try:
            return times.parse_duration(value)
        except EvaluationError:
            raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'") from None
    if value.__class__ is int:
        return checked_duration(value * 1_000_000_000)
    raise NoSuchOverloadError


def size(value: Any) -> int:
    """``size()``."""
    if value.__class__ in (str, bytes, list, dict):
        return len(value)
    raise NoSuchOverloadError
