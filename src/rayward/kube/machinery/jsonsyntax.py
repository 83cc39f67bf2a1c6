"""What Go's JSON decoder says of text that is no JSON. Runs only when decoding has failed."""

from __future__ import annotations

import string

_END = "unexpected end of JSON input"
_MAX_DEPTH = 10_000
_HEX = frozenset(string.hexdigits)
_SPACE = " \t\r\n"
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class _Wrong(Exception):  # noqa: N818
    """The first place that is wrong."""


def syntax_error(data: bytes) -> str:
    """The message of Go's SyntaxError for this text; empty if the text is fine for Go."""
    # Go reads bytes, and shows a wrong one as the character of that number
    text = data.decode("latin-1")
    try:
        end = _value(text, _skip(text, 0))
        end = _skip(text, end)
        if end < len(text):
            _fail(text, end, "after top-level value")
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _fail(text: str, at: int, where: str) -> None:
    if at >= len(text):
        raise _Wrong(_END)
    char = text[at]
    shown = {"'": r"'\''", '"': "'\"'"}.get(char)
    if shown is None:
        shown = f"'{char}'" if char.isprintable() else f"'{_escaped(char)}'"
    raise _Wrong(f"invalid character {shown} {where}")


def _escaped(char: str) -> str:
    known = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\b": r"\b", "\f": r"\f", "\v": r"\v", "\a": r"\a"}
    code = ord(char)
    return known.get(char) or (f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _value(text: str, at: int) -> int:
    """Walk one value with a stack of our own, since nesting may be deep; returns where it ends."""
    open_containers: list[str] = []
    while True:
        char = text[at : at + 1]
        if char in ("{", "["):
            open_containers.append(char)
            if len(open_containers) > _MAX_DEPTH:
                _fail(text, at, "exceeded max depth")
            at = _skip(text, at + 1)
            if text[at : at + 1] == ("}" if char == "{" else "]"):
                open_containers.pop()
                at += 1
            elif char == "{":
                at = _key(text, at)
                continue
            else:
                continue
        else:
            at = _scalar(text, at)
        at = _close(text, at, open_containers)
        if not open_containers:
            return at
        container = open_containers[-1]
        at = _skip(text, at + 1)
        if container == "{":
            at = _key(text, at)


def _close(text: str, at: int, open_containers: list[str]) -> int:
    """After a value: close what ends here; stops at the comma before the next value."""
    while open_containers:
        at = _skip(text, at)
        char = text[at : at + 1]
        container = open_containers[-1]
        if char == ",":
            return at
        if char == ("}" if container == "{" else "]"):
            open_containers.pop()
            at += 1
            continue
        _fail(text, at, "after object key:value pair" if container == "{" else "after array element")
    return at


def _key(text: str, at: int) -> int:
    if text[at : at + 1] != '"':
        _fail(text, at, "looking for beginning of object key string")
    at = _skip(text, _string(text, at))
    if text[at : at + 1] != ":":
        _fail(text, at, "after object key")
    return _skip(text, at + 1)


def _scalar(text: str, at: int) -> int:
    char = text[at : at + 1]
    if char == '"':
        return _string(text, at)
    if char in _LITERALS and char:
        return _literal(text, at, _LITERALS[char])
    if char == "-" or char.isdigit():
        return _number(text, at)
    _fail(text, at, "looking for beginning of value")
    return at


def _literal(text: str, at: int, word: str) -> int:
    for offset, wanted in enumerate(word):
        if text[at + offset : at + offset + 1] != wanted:
            _fail(text, at + offset, f"in literal {word} (expecting '{wanted}')")
    return at + len(word)


def _string(text: str, at: int) -> int:
    at += 1
    while True:
        char = text[at : at + 1]
        if char == '"':
            return at + 1
        if char == "\\":
            at = _escape(text, at + 1)
            continue
        if not char or ord(char) < 0x20:
            _fail(text, at, "in string literal")
        at += 1


def _escape(text: str, at: int) -> int:
    char = text[at : at + 1]
    if char == "u":
        for offset in range(1, 5):
            if text[at + offset : at + offset + 1] not in _HEX:
                _fail(text, at + offset, r"in \u hexadecimal character escape")
        return at + 5
    if not char or char not in '"\\/bfnrt':
        _fail(text, at, "in string escape code")
    return at + 1


def _number(text: str, at: int) -> int:
    if text[at] == "-":
        at += 1
        if not text[at : at + 1].isdigit():
            _fail(text, at, "in numeric literal")
    at = at + 1 if text[at] == "0" else _digits(text, at)
    if text[at : at + 1] == ".":
        at = _required_digits(text, at + 1, "after decimal point in numeric literal")
    if text[at : at + 1] in ("e", "E"):
        at += 1
        if text[at : at + 1] in ("+", "-"):
            at += 1
        at = _required_digits(text, at, "in exponent of numeric literal")
    return at


def _required_digits(text: str, at: int, where: str) -> int:
    if not text[at : at + 1].isdigit():
        _fail(text, at, where)
    return _digits(text, at)


def _digits(text: str, at: int) -> int:
    while text[at : at + 1].isdigit():
        at += 1
    return at
