"""Values as Go prints them; Kubernetes' messages are full of them."""

from __future__ import annotations

import math
import unicodedata
from typing import Any, Final

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}


def quote(text: str) -> str:
    """A string as ``%q`` and ``strconv.Quote`` print it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    if c == " " or (c.isprintable() and unicodedata.category(c) != "Co"):
        return c
    code = ord(c)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A number as ``%v`` prints it: shortest digits, with an exponent below 1e-4 and from 1e+06 on."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if not value:
        return "-0" if math.copysign(1, value) < 0 else "0"
    digits, exponent = _shortest(abs(value))
    sign = "-" if value < 0 else ""
    if exponent < -4 or exponent >= 6:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _plain(digits, exponent)


def plain_number(value: float) -> str:
    """A number without an exponent, shortest digits (``strconv.FormatFloat(v, 'f', -1, 64)``)."""
    if isinstance(value, int):
        return str(value)
    if not value or math.isnan(value) or math.isinf(value):
        return number(value)
    return ("-" if value < 0 else "") + _plain(*_shortest(abs(value)))


def _shortest(value: float) -> tuple[str, int]:
    """Significant digits and the decimal exponent of the first one."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + ("" if fraction == "0" else fraction)
    point = len(whole) + int(exponent or 0)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", point - 1


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return digits[: exponent + 1] + "." + digits[exponent + 1 :]


def value(item: Any) -> str:
    """A decoded JSON value as ``%v`` prints it."""
    if item is None:
        return "<nil>"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return number(item)
    if item.__class__ is list:
        return "[" + " ".join(map(value, item)) + "]"
    if item.__class__ is dict:
        return "map[" + " ".join(f"{k}:{value(item[k])}" for k in sorted(item)) + "]"
    return str(item)
