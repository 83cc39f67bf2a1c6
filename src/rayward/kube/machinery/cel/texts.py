"""CEL's string functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery.cel import operators, times
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.cel.values import Duration, EvaluationError, Timestamp, TypeValue, Uint

_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
# What Go's unicode.IsSpace counts as white space.
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_QUOTES: Final = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
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
    if start and not 0 <= start < len(text):
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


def format_text(template: str, args: list[Any]) -> str:
    """``format()``: %s, %d, %f, %e, %b, %x, %X and %o."""
    out: list[str] = []
    used = at = 0
    while at < len(template):
        percent = template.find("%", at)
        if percent < 0:
            out.append(template[at:])
            break
        out.append(template[at:percent])
        at = percent + 1
        if template[at : at + 1] == "%":
            out.append("%")
            at += 1
            continue
        precision, at = _precision(template, at)
        clause = template[at : at + 1]
        at += 1
        formatter = _CLAUSES.get(clause)
        if formatter is None:
            raise EvaluationError(
                f'could not parse formatting clause: unrecognized formatting clause "{clause}"'
                if clause
                else "could not parse formatting clause: unexpected end of string"
            )
        if used >= len(args):
            raise EvaluationError(f"index {used} out of range")
        out.append(formatter(args[used], precision))
        used += 1
    return "".join(out)


def _precision(template: str, at: int) -> tuple[int, int]:
    if template[at : at + 1] != ".":
        return 6, at
    end = at + 1
    while template[end : end + 1].isdigit():
        end += 1
    digits = template[at + 1 : end]
    if not digits or len(digits) > 3:
        raise EvaluationError("could not parse formatting clause: error while parsing precision")
    return int(digits), end


def _formatted(value: Any, _: int = 0) -> str:
    match value:
        case None:
            return "null"
        case list():
            return "[" + ", ".join(_formatted(item) for item in value) + "]"  # pyright: ignore[reportUnknownVariableType]
        case dict():
            pairs = sorted((_formatted(k), _formatted(v)) for k, v in value.items())  # pyright: ignore[reportUnknownVariableType]
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        case TypeValue():
            return value.name
        case Timestamp():
            return times.format_timestamp(value)
        case Duration():
            return times.format_duration(value)
        case _:
            return operators.to_string(value)


def _whole(value: Any, clause: str) -> int:
    if value.__class__ is int or value.__class__ is Uint:
        return int(value)
    raise EvaluationError(
        f"error during formatting: {clause} clause can only be used on integers, was given {operators.type_of(value).name}"
    )


def _decimal(value: Any, _: int) -> str:
    return str(_whole(value, "decimal"))


def _fixed(value: Any, precision: int) -> str:
    return f"{_real(value, 'fixed-point'):.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    return f"{_real(value, 'scientific'):.{precision}e}"


def _real(value: Any, clause: str) -> float:
    if value.__class__ in (float, int, Uint):
        return float(value)
    raise EvaluationError(
        f"error during formatting: {clause} clause can only be used on doubles, was given {operators.type_of(value).name}"
    )


def _binary(value: Any, _: int) -> str:
    return str(int(value)) if value.__class__ is bool else f"{_whole(value, 'binary'):b}"


def _octal(value: Any, _: int) -> str:
    return f"{_whole(value, 'octal'):o}"


def _hex(value: Any, _: int) -> str:
    if value.__class__ is str:
        return value.encode().hex()
    return value.hex() if value.__class__ is bytes else f"{_whole(value, 'hex'):x}"


_CLAUSES: Final[dict[str, Callable[[Any, int], str]]] = {
    "s": _formatted,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
}

OVERLOADS: Final[dict[str, list[tuple[tuple[Any, ...], Callable[..., Any]]]]] = {
    "contains": [((str, str), lambda text, part: part in text)],
    "startsWith": [((str, str), str.startswith)],
    "endsWith": [((str, str), str.endswith)],
    "matches": [((str, str), matches)],
    "find": [((str, str), find)],
    "findAll": [((str, str), find_all), ((str, str, int), find_all)],
    "charAt": [((str, int), char_at)],
    "indexOf": [((str, str), index_of), ((str, str, int), index_of)],
    "lastIndexOf": [((str, str), last_index_of), ((str, str, int), last_index_of)],
    "lowerAscii": [((str,), lambda text: text.translate(_LOWER))],
    "upperAscii": [((str,), lambda text: text.translate(_UPPER))],
    "replace": [((str, str, str), replace), ((str, str, str, int), replace)],
    "split": [((str, str), split), ((str, str, int), split)],
    "substring": [((str, int), substring), ((str, int, int), substring)],
    "trim": [((str,), lambda text: text.strip(_SPACE))],
    "join": [((list,), join), ((list, str), join)],
    "reverse": [((str,), lambda text: text[::-1])],
    "strings.quote": [((str,), quote)],
    "format": [((str, list), format_text)],
}
