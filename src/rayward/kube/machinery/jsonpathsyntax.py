"""The JSONPath dialect of client-go, read into steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


class JSONPathError(ValueError):
    """The text is no JSONPath, or it does not fit the document; the message is client-go's."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it stands, or a quoted string."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a truth value."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class Field:
    """A member of an object."""

    name: str


@dataclass(frozen=True, slots=True)
class Slice:
    """One index or a range of a list; a missing bound is None."""

    start: int | None
    stop: int | None
    step: int | None
    single: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """The items of a list for which a comparison holds, or the left side exists."""

    left: Steps
    operator: str
    right: Steps


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Everything directly below."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Everything below that holds something, at any depth, and the value itself."""


@dataclass(frozen=True, slots=True)
class Union:
    """The results of several selections, one after another."""

    choices: tuple[Steps, ...]


@dataclass(frozen=True, slots=True)
class Identifier:
    """A bare word; client-go knows ``range`` and ``end``."""

    name: str


Step = Text | Literal | Field | Slice | Filter | Wildcard | Descent | Union | Identifier
Steps = tuple[Step, ...]

_MAX_TEXT: Final = 4096
_END: Final = ""
_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")
_quoted_key: Final = re.compile(r"'([^']*)'").fullmatch
_slice: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?", re.ASCII).fullmatch
_comparison: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)").fullmatch
_quoted_part: Final = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\'"])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"""
    r"""|(?P<octal>[0-3][0-7]{2}))|(?P<other>[^\\])""",
    re.DOTALL,
)
_PLAIN_ESCAPES: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def read(text: str) -> tuple[Steps, ...]:
    """The parts of a template: text outside braces and the steps of each action inside them.

    Raises:
        JSONPathError: The text is malformed.
    """
    if len(text) > _MAX_TEXT:
        raise JSONPathError(f"longer than {_MAX_TEXT} characters")
    return _Reader(text).parts()


def _action(text: str) -> Steps:
    return _Reader(f"{{{text}}}").parts()[0]


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> tuple[Steps, ...]:
        parts: list[Steps] = []
        while self._at < len(self._text):
            brace = self._text.find("{", self._at)
            if brace < 0:
                brace = len(self._text)
            if brace > self._at:
                parts.append((Text(self._text[self._at : brace]),))
            self._at = brace + 1
            if brace < len(self._text):
                parts.append(self._steps())
        return tuple(parts)

    def _steps(self) -> Steps:
        steps: list[Step] = []
        while (char := self._next()) != "}":
            if char == _END or char in "\r\n":
                raise JSONPathError("unclosed action")
            if char in " @$":
                continue
            if char == "." and self._peek() == ".":
                self._descent(steps)
            elif char == "[" and self._text.startswith("?(", self._at):
                steps.append(self._filter())
            elif char == "[":
                steps += self._array()
            elif char in "\"'":
                steps.append(self._quoted(char))
            elif char == ".":
                steps.append(self._field())
            elif char in "+-" or char.isdecimal():
                steps.append(self._number())
            elif _is_word(char):
                steps.append(self._identifier())
            else:
                shown = f" '{char}'" if char.isprintable() else ""
                raise JSONPathError(f"unrecognized character in action: U+{ord(char):04X}{shown}")
        return tuple(steps)

    def _next(self) -> str:
        char = self._peek()
        self._at += len(char)
        return char

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _descent(self, steps: list[Step]) -> None:
        if steps and isinstance(steps[-1], Descent):
            raise JSONPathError("invalid multiple recursive descent")
        self._at += 1
        steps.append(Descent())
        if _is_word(self._peek()):
            steps.append(self._field())

    def _field(self) -> Step:
        start = self._at
        while (char := self._peek()) != _END and char not in _TERMINATORS:
            self._at += 2 if char == "\\" else 1
        name = self._text[start : self._at]
        return Wildcard() if name == "*" else Field(name.replace("\\", ""))

    def _identifier(self) -> Step:
        start = self._at - 1
        while (char := self._peek()) != _END and char not in _TERMINATORS:
            self._at += 1
        name = self._text[start : self._at]
        return Literal(name == "true") if name in ("true", "false") else Identifier(name)

    def _number(self) -> Step:
        start = self._at - 1
        while (char := self._peek()) == "." or char.isdecimal():
            self._at += 1
        text = self._text[start : self._at]
        try:
            number = int(text) if text.isascii() and "." not in text else None
            if number is not None and -(2**63) <= number < 2**63:
                return Literal(number)
            return Literal(float(text if text.isascii() else "none"))
        except ValueError:
            raise JSONPathError(f"cannot parse number {text}") from None

    def _array(self) -> Steps:
        start = self._at
        while (char := self._next()) != "]":
            if char in (_END, "\n"):
                raise JSONPathError("unterminated array")
        text = self._text[start : self._at - 1]
        choices = text.split(",")
        if len(choices) > 1:
            return (Union(tuple(_action(f"[{choice.strip(' ')}]") for choice in choices)),)
        if key := _quoted_key(text):
            return _action(f".{key.group(1)}")
        return (_slice_of(":" if text == "*" else text),)

    def _filter(self) -> Step:
        self._at += 2
        start = self._at
        quote = _END
        closed = False
        while (char := self._next()) != ")" or (quote != _END and not closed):
            if char in (_END, "\n"):
                raise JSONPathError("unterminated filter")
            if char in "\"'":
                if quote == _END:
                    quote = char
                elif char == quote and self._text[self._at - 2] != "\\":
                    closed = True
        text = self._text[start : self._at - 1]
        if self._next() != "]":
            raise JSONPathError("unclosed array expect ]")
        comparison = _comparison(text)
        if comparison is None:
            return Filter(_action(text), "exists", ())
        left, operator, right = comparison.groups()
        return Filter(_action(left), operator, _action(right))

    def _quoted(self, quote: str) -> Step:
        start = self._at
        while (char := self._next()) != quote or self._text[self._at - 2] == "\\":
            if char in (_END, "\n"):
                raise JSONPathError("unterminated quoted string")
        return Text(_unquoted(self._text[start : self._at - 1], quote))


def _is_word(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _slice_of(text: str) -> Slice:
    match = _slice(text)
    if match is None:
        raise JSONPathError(f"invalid array index {text}")
    start, stop, step = match.groups(default="")
    for bound in (start, stop[1:], step[1:]):
        if bound == "-" or len(bound) > 18:
            raise JSONPathError(f"array index {bound} is not a number")
    first = int(start) if start else None
    if not stop:
        return Slice(first, (first or 0) + 1, int(step[1:]) if step[1:] else None, True)
    return Slice(first, int(stop[1:]) if stop[1:] else None, int(step[1:]) if step[1:] else None, False)


def _unquoted(inner: str, quote: str) -> str:
    if "\\" not in inner and quote not in inner:
        return inner
    parts: list[str] = []
    at = 0
    while at < len(inner):
        match = _quoted_part.match(inner, at)
        part = None if match is None else _unquoted_part(match, quote)
        if match is None or part is None:
            raise JSONPathError(f"unquote string {quote}{inner}{quote} error invalid syntax")
        parts.append(part)
        at = match.end()
    return "".join(parts)


def _unquoted_part(match: re.Match[str], quote: str) -> str | None:
    kind = match.lastgroup or ""
    value = match[kind]
    if kind == "other":
        return None if value == quote else value
    if kind == "plain":
        return None if value in "\"'" and value != quote else _PLAIN_ESCAPES.get(value, value)
    code = int(value, 8 if kind == "octal" else 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else None
