"""What a plain scalar of YAML means to Kubernetes' reader: more words are true than in JSON, and no time is a time."""

from __future__ import annotations

import re
from typing import Any

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NO_NUMBERS = frozenset((".nan", ".NaN", ".NAN", *(s + i for s in ("", "+", "-") for i in (".inf", ".Inf", ".INF"))))
_integer = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))").fullmatch
_decimal = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?").fullmatch
_BASES = (16, 2, 8, 10)
_LONGEST = 400
_EXACT = 1e21
"""Below this a whole number is written without an exponent."""


def scalar(text: str) -> Any:
    """The value of an unquoted scalar.

    Raises:
        ValueError: It is one that JSON has no word for.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST:
        return text
    if text in _NO_NUMBERS:
        shown = "NaN" if "n" in text.lower()[-1:] else f"{'-' if text[0] == '-' else '+'}Inf"
        raise ValueError(f"json: unsupported value: {shown}")
    plain = text.replace("_", "")
    whole = None if text[0] == "." else _whole(plain)
    if whole is not None:
        return whole
    return _fraction(plain) if _decimal(plain) else text


def _whole(plain: str) -> int | None:
    found = _integer(plain)
    if found is None:
        return None
    sign, *digits = found.groups()
    value = next(int(text, base) for text, base in zip(digits, _BASES, strict=True) if text is not None)
    if sign:
        value = -value if sign == "-" else value
        return value if -(1 << 63) <= value < 1 << 63 else None
    return value if value < 1 << 64 else None


def _fraction(plain: str) -> Any:
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        # too large for a float: the reader leaves it as the text it was
        return plain
    return int(value) if value.is_integer() and abs(value) < _EXACT else value
