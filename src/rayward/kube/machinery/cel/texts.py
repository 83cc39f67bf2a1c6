"""CEL's string functions, those of its strings extension among them; positions count code points."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery.cel.formatting import format_text
from rayward.kube.machinery.cel.overloads import Overloads, binary, unary
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.cel.values import EvaluationError

_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
# What Go's unicode.IsSpace counts as white space.
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_QUOTES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def matches(text: str, pattern: str) -> bool:
    """Whether a regular expression matches anywhere."""
    try:
        return compile_pattern(pattern).search(text)
    except PatternError as error:
        raise EvaluationError(str(error)) from None


def find(text: str, pattern: str) -> str:
    """The first match, or nothing."""
    found = find_all(text, pattern, 1)
    return found[0] if found else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """All matches from left to right."""
    try:
        return compile_pattern(pattern).find_all(text, limit)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def char_at(text: str, place: int) -> str:
    """The character at a place; nothing right behind the end."""
    if not 0 <= place <= len(text):
        raise EvaluationError(f"index out of range: {place}")
    return text[place : place + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Where a part first stands, or -1."""
    if not part:
        return start
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def last_index_of(text: str, part: str, end: int | None = None) -> int:
    """Where a part last stands, or -1."""
    if not part:
        return len(text) if end is None else end
    if end is None:
        return text.rfind(part)
    if not 0 <= end < len(text):
        raise EvaluationError(f"index out of range: {end}")
    return text.rfind(part, 0, end + len(part))


def substring(text: str, start: int, end: int | None = None) -> str:
    """The text between two places."""
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if not 0 <= stop <= len(text):
        raise EvaluationError(f"index out of range: {stop}")
    return text[start:stop]


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """The text with a part replaced, everywhere or ``limit`` times."""
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """The parts between separators."""
    if limit == 0:
        return []
    if not separator:
        if limit < 0 or limit >= len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, -1 if limit < 0 else limit - 1)


def join(parts: list[Any], separator: str = "") -> str:
    """The strings of a list one after another."""
    if any(part.__class__ is not str for part in parts):
        raise EvaluationError("no such overload")
    return separator.join(parts)


def quote(text: str) -> str:
    """The text between quotation marks with control characters escaped."""
    return f'"{text.translate(_QUOTES)}"'


OVERLOADS: Final[Overloads] = {
    "contains": [binary(str, str, lambda text, part: part in text)],
    "startsWith": [binary(str, str, str.startswith)],
    "endsWith": [binary(str, str, str.endswith)],
    "matches": [binary(str, str, matches)],
    "find": [binary(str, str, find)],
    "findAll": [binary(str, str, find_all), ((str, str, int), find_all)],
    "charAt": [binary(str, int, char_at)],
    "indexOf": [binary(str, str, index_of), ((str, str, int), index_of)],
    "lastIndexOf": [binary(str, str, last_index_of), ((str, str, int), last_index_of)],
    "lowerAscii": [unary(str, lambda text: text.translate(_LOWER))],
    "upperAscii": [unary(str, lambda text: text.translate(_UPPER))],
    "replace": [((str, str, str), replace), ((str, str, str, int), replace)],
    "split": [binary(str, str, split), ((str, str, int), split)],
    "substring": [binary(str, int, substring), ((str, int, int), substring)],
    "trim": [unary(str, lambda text: text.strip(_SPACE))],
    "join": [unary(list, join), binary(list, str, join)],
    "reverse": [unary(str, lambda text: text[::-1])],
    "strings.quote": [unary(str, quote)],
    "format": [binary(str, list, format_text)],
}
