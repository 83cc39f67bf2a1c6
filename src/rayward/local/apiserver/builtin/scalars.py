"""Single values as a typed server reads and writes them; each reader raises DecodeError in Go's words."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from datetime import UTC
from functools import lru_cache
from typing import Any, Final

from rayward.kube.machinery import duration
from rayward.kube.machinery.quantity import QuantityError, parse
from rayward.local.apiserver.behaviour import DecodeError

Read = Callable[[Any, Callable[[], str]], Any]
"""Reads a value; the second argument says where it is, for errors."""

_INT32: Final = 2**31
_SECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_MICROSECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_MICRO_FORM: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)", re.ASCII)
_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
_LEADING: Final = (
    (re.compile(r"\d{4}", re.ASCII), "2006"),
    (re.compile(r"-"), "-"),
    (re.compile(r"\d\d", re.ASCII), "01"),
    (re.compile(r"-"), "-"),
    (re.compile(r"\d\d", re.ASCII), "02"),
    (re.compile(r"T"), "T"),
    (re.compile(r"\d\d", re.ASCII), "15"),
    (re.compile(r":"), ":"),
    (re.compile(r"\d\d", re.ASCII), "04"),
    (re.compile(r":"), ":"),
    (re.compile(r"\d\d", re.ASCII), "05"),
)


def json_kind(value: Any) -> str:
    """What Go calls a JSON value in an error."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def mismatch(value: Any, where: str, go: str) -> DecodeError:
    """The value has another type than the field; ``where`` is empty or ``struct field X.y``."""
    kind = json_kind(value)
    if kind == "number" and go in ("int32", "int64", "float64"):
        kind = f"number {value}"
    return DecodeError(f"json: cannot unmarshal {kind} into Go {where or 'value'} of type {go}")


@lru_cache(maxsize=4096)
def _quantity(value: str | int | float) -> str:
    return str(parse(value))


def quantity(value: Any, _where: Callable[[], str] | None = None) -> str:
    """An amount in its canonical form."""
    try:
        if type(value) is str or type(value) is int or type(value) is float:
            return _quantity(value)
        return str(parse(value))
    except QuantityError as error:
        raise DecodeError(str(error)) from None


def time(value: Any, where: Callable[[], str]) -> str:
    """A moment in whole seconds, in UTC."""
    if type(value) is not str:
        raise mismatch(value, where(), "string")
    moment = duration.instant(value)
    if moment is None:
        raise _bad_time(value, _RFC3339)
    if _SECONDS.fullmatch(value):
        return value
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def micro_time(value: Any, where: Callable[[], str]) -> str:
    """A moment in microseconds, in UTC."""
    if type(value) is not str:
        raise mismatch(value, where(), "string")
    moment = duration.instant(value) if _MICRO_FORM.fullmatch(value) else None
    if moment is None:
        raise _bad_time(value, _RFC3339_MICRO)
    if _MICROSECONDS.fullmatch(value):
        return value
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)


def _bad_time(value: str, layout: str) -> DecodeError:
    rest, text = value, _quoted(value)
    for pattern, element in _LEADING:
        match = pattern.match(rest)
        if match is None:
            return DecodeError(f'parsing time {text} as "{layout}": cannot parse {_quoted(rest)} as "{element}"')
        rest = rest[match.end() :]
    if layout == _RFC3339_MICRO:
        fraction = re.match(r"\.\d{6}", rest, re.ASCII)
        if fraction is None:
            return DecodeError(f'parsing time {text} as "{layout}": cannot parse {_quoted(rest)} as ".000000"')
        rest = rest[fraction.end() :]
    else:
        rest = re.sub(r"^\.\d+", "", rest, flags=re.ASCII)
    zone = re.match(r"Z|[+-]\d\d:\d\d", rest, re.ASCII)
    if zone is None:
        return DecodeError(f'parsing time {text} as "{layout}": cannot parse {_quoted(rest)} as "Z07:00"')
    if rest[zone.end() :]:
        return DecodeError(f"parsing time {text}: extra text: {_quoted(rest[zone.end() :])}")
    if zone.group() != "Z":
        hours, minutes = int(zone.group()[1:3]), int(zone.group()[4:6])
        if hours > 24 or minutes > 60:
            what = "hour" if hours > 24 else "minute"
            return DecodeError(f"parsing time {text}: time zone offset {what} out of range")
    return DecodeError(f"parsing time {text}: {_out_of_range(value)} out of range")


def _quoted(value: str) -> str:
    """As Go's time package quotes: byte by byte where it is not printable ASCII."""
    shown = [
        (f"\\{char}" if char in '"\\' else char)
        if " " <= char < "\x80"
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in value
    ]
    return f'"{"".join(shown)}"'


def _out_of_range(value: str) -> str:
    month, hour, minute, second = int(value[5:7]), int(value[11:13]), int(value[14:16]), int(value[17:19])
    if not 1 <= month <= 12:
        return "month"
    if hour > 23:
        return "hour"
    if minute > 59:
        return "minute"
    return "second" if second > 59 else "day"


def int_or_string(value: Any, where: Callable[[], str]) -> int | str:
    """A number or a text."""
    if type(value) is str:
        return value
    if type(value) is int and -_INT32 <= value < _INT32:
        return value
    raise mismatch(value, where(), "int32")


def base64(value: str) -> str:
    """Bytes in their canonical text."""
    text = value.replace("\n", "").replace("\r", "") if "\n" in value or "\r" in value else value
    try:
        content = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise DecodeError(f"illegal base64 data at input byte {_bad_byte(value)}") from None
    return binascii.b2a_base64(content, newline=False).decode()


def _bad_byte(text: str) -> int:
    """Where Go's decoder stops."""
    at, end = 0, len(text)
    while at < end:
        for place in range(4):
            at = _past_newlines(text, at)
            if at == end:
                return end - place if place else -1
            character = text[at]
            at += 1
            if character.isascii() and (character.isalnum() or character in "+/"):
                continue
            if character != "=" or place < 2:
                return at - 1
            if place == 2:
                at = _past_newlines(text, at)
                if at == end:
                    return end
                if text[at] != "=":
                    return at - 1
                at += 1
            return _past_newlines(text, at)
    return end


def _past_newlines(text: str, at: int) -> int:
    while at < len(text) and text[at] in "\r\n":
        at += 1
    return at


def decode_base64(value: str) -> bytes:
    """The bytes of a field that was read before."""
    return binascii.a2b_base64(value)


def size_of_base64(value: str) -> int:
    """How many bytes a field that was read before holds."""
    return len(value) * 3 // 4 - value.count("=", -2)


def encode_base64(value: bytes) -> str:
    """The text of bytes."""
    return binascii.b2a_base64(value, newline=False).decode()
