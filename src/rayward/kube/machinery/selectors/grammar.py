"""The text form of label selectors, read word by word with Kubernetes' complaints."""

from __future__ import annotations

import re
from typing import Final

from rayward.kube.machinery import fielderror, names
from rayward.kube.machinery.selectors.error import SelectorError
from rayward.kube.machinery.selectors.requirement import BINARY_OPERATORS, Operator, Requirement, checked

_END: Final = ""
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_next_word: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]*)\0?").match


def read(text: str) -> list[Requirement]:
    """The requirements of a selector, as written.

    Raises:
        SelectorError: The text is no selector.
    """
    words = _Words(text)
    requirements: list[Requirement] = []
    while (word := words.peek()) != _END:
        if word != "!" and word in _SYMBOLS:
            raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
        try:
            requirements.append(_requirement(words))
        except SelectorError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from None
        word = words.take()
        if word == _END:
            break
        if word != ",":
            raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
        after = words.peek()
        if after == _END or (after != "!" and after in _SYMBOLS):
            raise SelectorError(f"found '{after}', expected: identifier after ','")
    return requirements


class _Words:
    """The words of a text, one of them in advance; the empty word is the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._ahead: str | None = None

    def peek(self) -> str:
        if self._ahead is None:
            self._ahead = self._scan()
        return self._ahead

    def take(self) -> str:
        word = self.peek()
        self._ahead = None
        return word

    def _scan(self) -> str:
        match = _next_word(self._text, self._position)
        assert match is not None  # every part of the pattern may be empty
        self._position = match.end()
        return match.group(1)


def _requirement(words: _Words) -> Requirement:
    key = words.take()
    absent = key == "!"
    if absent:
        key = words.take()
    if key == _END or key in _SYMBOLS:
        raise SelectorError(f"found '{key}', expected: identifier")
    if problems := names.check_qualified_name(key):
        raise SelectorError(str(fielderror.invalid("<nil>", key, "; ".join(problems))))
    if absent:
        return checked(key, Operator.DOES_NOT_EXIST)
    if words.peek() in (_END, ","):
        return checked(key, Operator.EXISTS)
    word = words.take()
    operator = _OPERATORS.get(word)
    if operator is None:
        raise SelectorError(f"found '{word}', expected: {', '.join(BINARY_OPERATORS)}")
    if operator in (Operator.IN, Operator.NOT_IN):
        return checked(key, operator, sorted(_set(words)))
    return checked(key, operator, (_exact(words),))


def _set(words: _Words) -> set[str]:
    word = words.take()
    if word != "(":
        raise SelectorError(f"found '{word}' expected: '('")
    word = words.peek()
    if word == ")":
        words.take()
        return {""}
    if word == _END or (word != "," and word in _SYMBOLS):
        raise SelectorError(f"found '{word}', expected: ',', ')' or identifier")
    values: set[str] = set()
    while True:
        word = words.take()
        after = words.peek()
        if word == ",":
            if not values or after in (",", ")"):
                values.add("")
        elif word == _END or word in _SYMBOLS:
            raise SelectorError(f"found '{word}', expected: ',', or identifier")
        else:
            values.add(word)
            if after not in (",", ")"):
                raise SelectorError(f"found '{after}', expected: ',' or ')'")
        if after == ")":
            words.take()
            return values


def _exact(words: _Words) -> str:
    if words.peek() in (_END, ","):
        return ""
    word = words.take()
    if word in _SYMBOLS:
        raise SelectorError(f"found '{word}', expected: identifier")
    return word
