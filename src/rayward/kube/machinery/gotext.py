"""Values as Go prints them, where Kubernetes' texts show a value that way."""

from __future__ import annotations

import json
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import is_list, is_object

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_JSON_ESCAPES: Final = {code: f"\\u{code:04x}" for code in range(32)} | str.maketrans(
    {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_HTML_ESCAPES: Final = _JSON_ESCAPES | str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def quoted(text: str) -> str:
    """``%q``."""
    return '"' + "".join(_quoted_char(char) for char in text) + '"'


def plain(value: Any) -> str:
    """``%v``: maps sorted by key, no quotes."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if is_object(value):
        return "map[" + " ".join(f"{key}:{plain(value[key])}" for key in sorted(value)) + "]"
    if is_list(value):
        return "[" + " ".join(plain(item) for item in value) + "]"
    return str(value)


def syntax(value: Any) -> str:
    """``%#v``."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quoted(value)
    if is_object(value):
        return (
            "map[string]interface {}{" + ", ".join(f"{quoted(key)}:{syntax(value[key])}" for key in sorted(value)) + "}"
        )
    if is_list(value):
        return "[]interface {}{" + ", ".join(syntax(item) for item in value) + "}"
    return plain(value)


def type_name(value: Any) -> str:
    """``%T`` of a decoded JSON value."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    return "map[string]interface {}" if is_object(value) else "[]interface {}"


def float_text(value: float) -> str:
    """``%v`` of a float64: the shortest digits, an exponent from 1e+06 on and below 1e-04."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return {"n": "NaN", "N": "NaN", "F": "-Inf" if sign else "+Inf"}[str(exponent)]
    power = len(digits) + exponent - 1
    if -4 <= power < 6:
        return format(Decimal(repr(value)).normalize(), "f")
    text = "".join(map(str, digits))
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' if sign else ''}{text[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def json_name(text: str) -> str:
    """A JSON string with the escapes that Go's encoder uses in the names of an object."""
    return '"' + text.translate(_JSON_ESCAPES) + '"'


def json_text(value: Any) -> str:
    """Compact JSON with sorted keys, numbers and escapes as Go's encoder writes them.

    Raises:
        ValueError: a number that JSON does not have.
    """
    if isinstance(value, str):
        return '"' + value.translate(_HTML_ESCAPES) + '"'
    if isinstance(value, float):
        return _json_float(value)
    if is_object(value):
        return "{" + ",".join(f"{json_text(key)}:{json_text(value[key])}" for key in sorted(value)) + "}"
    if is_list(value):
        return "[" + ",".join(json_text(item) for item in value) + "]"
    return json.dumps(value)


def _json_float(value: float) -> str:
    if not isfinite(value):
        raise ValueError(value)
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)).normalize(), "f")
    return repr(value)


def _quoted_char(char: str) -> str:
    escape = _ESCAPES.get(char)
    if escape is not None:
        return escape
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
