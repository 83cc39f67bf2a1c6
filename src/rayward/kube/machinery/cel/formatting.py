"""``'%s'.format([...])``: the template, its clauses, and how each shows a value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.cel import operators, times
from rayward.kube.machinery.cel.values import Duration, EvaluationError, Timestamp, TypeValue, Uint
from rayward.kube.machinery.digits import parse_digits

_PRECISION: Final = re.compile(r"\.([0-9]*)")
_MAX_PRECISION: Final = 1000
_DEFAULT_PRECISION: Final = 6

ACCEPTED: Final = {
    "s": (
        "list",
        "map",
        "int",
        "uint",
        "double",
        "bool",
        "string",
        "timestamp",
        "bytes",
        "duration",
        "type",
        "null_type",
    ),
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
}
"""The types each clause takes; a text is a number only when it names infinity or none at all."""

_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_REFUSALS: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}


class FormatError(EvaluationError):
    """The template is wrong or does not fit its arguments; ``argument`` is which one, if one is to blame."""

    def __init__(self, text: str, argument: int | None = None) -> None:
        super().__init__(text)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class Clause:
    """A place in the template for a value, behind some literal text."""

    before: str
    letter: str = ""
    precision: int = _DEFAULT_PRECISION


def clauses(template: str, count: int) -> Iterator[Clause]:
    """The parts of a template, the last without a letter.

    Raises:
        FormatError: The template is malformed or wants more than ``count`` values.
    """
    text: list[str] = []
    at = used = 0
    while (percent := template.find("%", at)) >= 0:
        text.append(template[at:percent])
        at = percent + 1
        if template[at : at + 1] == "%":
            text.append("%")
            at += 1
            continue
        if at >= len(template):
            raise FormatError("unexpected end of string")
        if used >= count:
            raise FormatError(f"index {used} out of range")
        precision = _DEFAULT_PRECISION
        if match := _PRECISION.match(template, at):
            asked = parse_digits(match[1], _MAX_PRECISION)
            if asked is None or match.end() >= len(template):
                raise FormatError("could not parse formatting clause: error while parsing precision")
            precision, at = asked, match.end()
        letter = template[at]
        if letter not in ACCEPTED:
            raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
        yield Clause("".join(text), letter, precision)
        text, at, used = [], at + 1, used + 1
    yield Clause("".join([*text, template[at:]]))


def refusal(letter: str, given: str, argument: int) -> FormatError:
    """A clause met a value that it does not take."""
    return FormatError(f"error during formatting: {_REFUSALS[letter]}, was given {given}", argument)


def format_text(template: str, args: list[Any]) -> str:
    """The template with its clauses replaced."""
    out: list[str] = []
    for place, clause in enumerate(clauses(template, len(args))):
        out.append(clause.before)
        if clause.letter:
            shown = _SHOW[clause.letter](args[place], clause.precision)
            if shown is None:
                raise refusal(clause.letter, operators.type_of(args[place]).name, place)
            out.append(shown)
    return "".join(out)


def _plain(value: Any, _: int) -> str | None:
    match value:
        case None:
            return "null"
        case list():
            return "[" + ", ".join(map(_literal, value)) + "]"  # pyright: ignore[reportUnknownArgumentType]
        case dict():
            pairs = sorted((_literal(name), _literal(item)) for name, item in value.items())  # pyright: ignore[reportUnknownVariableType]
            return "{" + ", ".join(f"{name}:{item}" for name, item in pairs) + "}"
        case TypeValue():
            return value.name
        case bool() | int() | float() | str() | bytes() | Timestamp() | Duration():
            return operators.to_string(value)
        case _:
            return None


def _literal(value: Any) -> str:
    """A value inside a list or map, as one would write it in CEL."""
    match value:
        case str():
            return gotext.quoted(value)
        case bytes():
            return "b" + gotext.quoted(operators.to_string(value))
        case Timestamp():
            return f'timestamp("{times.format_timestamp(value)}")'
        case Duration():
            return f'duration("{times.format_duration(value)}")'
        case float():
            return f"{value:.6f}" if math.isfinite(value) else gotext.quoted(gotext.plain(value))
        case _:
            shown = _plain(value, 0)
            if shown is None:
                raise EvaluationError(f"no formatting function for {operators.type_of(value).name}")
            return shown


def _decimal(value: Any, _: int) -> str | None:
    return str(int(value)) if value.__class__ in (int, Uint) else None


def _real(value: Any) -> float | None:
    if value.__class__ is float:
        return value
    return (
        {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value) if isinstance(value, str) else None
    )


def _fixed(value: Any, precision: int) -> str | None:
    number = _real(value)
    if number is None:
        return None
    return f"{number:,.{precision}f}" if math.isfinite(number) else _infinite(number)


def _infinite(number: float) -> str:
    return "NaN" if math.isnan(number) else ("∞" if number > 0 else "-∞")


def _scientific(value: Any, precision: int) -> str | None:
    """Six digits behind the point whatever the precision: upstream takes it for a width."""
    del precision
    number = _real(value)
    if number is None:
        return None
    if not math.isfinite(number):
        return _infinite(number)
    mantissa, exponent = f"{number:.6e}".split("e")
    raised = f"{int(exponent):03d}" if int(exponent) < 0 else f"{int(exponent):02d}"
    return f"{mantissa}\u00d710{raised.translate(_SUPERSCRIPT)}"


def _binary(value: Any, _: int) -> str | None:
    if value.__class__ is bool:
        return str(int(value))
    return f"{int(value):b}" if value.__class__ in (int, Uint) else None


def _octal(value: Any, _: int) -> str | None:
    return f"{int(value):o}" if value.__class__ in (int, Uint) else None


def _hex(value: Any, _: int) -> str | None:
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    return f"{int(value):x}" if value.__class__ in (int, Uint) else None


def _upper_hex(value: Any, precision: int) -> str | None:
    shown = _hex(value, precision)
    return None if shown is None else shown.upper()


_SHOW: Final[dict[str, Callable[[Any, int], str | None]]] = {
    "s": _plain,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _upper_hex,
    "o": _octal,
}
