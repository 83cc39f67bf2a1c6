"""Go's regular expressions (RE2 syntax) written for Python's engine."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_MAX_REPEAT: Final = 1000
_PERL_CLASSES: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_ESCAPES: Final = {"a": "\\x07", "f": "\\x0c", "t": "\\t", "n": "\\n", "r": "\\r", "v": "\\x0b"}
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_GROUP_NAME = re.compile(r"\?P?<(\w+)>")
_FLAGS = re.compile(r"\?([imsU]*)(?:-([imsU]+))?([:)])")


class PatternError(ValueError):
    """The pattern is not a regular expression; the text is Go's."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


@dataclass(slots=True)
class _Group:
    """What is open while the pattern is read."""

    start: int
    multiline: bool = False
    loops: int = 0
    # Flags set without a group of their own; they hold to the end of this one, over alternatives too.
    flags: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Translation:
    """A pattern being rewritten; ``risky`` can run away in Python, ``foreign`` cannot be said in it at all."""

    source: str
    at: int = 0
    out: list[str] = field(default_factory=list[str])
    groups: list[_Group] = field(default_factory=list[_Group])
    loops: int = 0
    risky: bool = False
    foreign: bool = False
    # Index in `out` of the last repeatable piece and the loops inside it; None where nothing can be repeated.
    atom: tuple[int, int] | None = None
    repeated: bool = False
    repeated_from: int = 0

    @property
    def text(self) -> str:
        """The pattern so far."""
        return "".join(self.out)

    def put(self, text: str) -> None:
        """Adds a piece that a repetition may follow."""
        self.atom = (len(self.out), 0)
        self.repeated = False
        self.out.append(text)


def translate(source: str) -> Translation:
    """A pattern for Python, and what is known about running it.

    Raises:
        PatternError: Go would not compile it.
    """
    t = Translation(source, groups=[_Group(0)])
    while t.at < len(source):
        c = source[t.at]
        handler = _HANDLERS.get(c)
        if handler is not None:
            handler(t)
        else:
            t.put(re.escape(c))
            t.at += 1
    if len(t.groups) > 1:
        raise PatternError("missing closing )", source)
    t.out.append(")" * len(t.groups[0].flags))
    return t


def _open(t: Translation) -> None:
    source = t.source
    parent = t.groups[-1]
    if source.startswith("(?", t.at):
        if name := _GROUP_NAME.match(source, t.at + 1):
            text, length = f"(?P<{name[1]}>", len(name[0]) + 1
        elif flags := _FLAGS.match(source, t.at + 1):
            _flags(t, flags)
            return
        else:
            if source.startswith(("(?P<", "(?<"), t.at) and not source.startswith(("(?<=", "(?<!"), t.at):
                raise PatternError("invalid named capture", source[t.at :])
            raise PatternError("invalid or unsupported Perl syntax", source[t.at : t.at + 3])
    else:
        text, length = "(", 1
    t.groups.append(_Group(len(t.out), multiline=parent.multiline))
    t.out.append(text)
    t.at += length
    t.atom = None


def _flags(t: Translation, match: re.Match[str]) -> None:
    on, off = match[1], match[2] or ""
    if "U" in on or "U" in off:
        t.foreign = True
        on, off = on.replace("U", ""), off.replace("U", "")
    multiline = ("m" in on or t.groups[-1].multiline) and "m" not in off
    spec = on + (f"-{off}" if off else "")
    if match[3] == ":":
        t.groups.append(_Group(len(t.out), multiline=multiline))
    else:
        t.groups[-1].flags.append(spec)
        t.groups[-1].multiline = multiline
    t.out.append(f"(?{spec}:")
    t.at += len(match[0]) + 1
    t.atom = None


def _close(t: Translation) -> None:
    if len(t.groups) == 1:
        raise PatternError("unexpected )", t.source)
    group = t.groups.pop()
    t.out.append(")" * (len(group.flags) + 1))
    t.groups[-1].loops += group.loops
    t.atom = (group.start, group.loops)
    t.repeated = False
    t.at += 1


def _alternate(t: Translation) -> None:
    flags = t.groups[-1].flags
    t.out.append(")" * len(flags) + "|" + "".join(f"(?{spec}:" for spec in flags))
    # Alternatives inside a repeated group are another way to match one text twice.
    t.groups[-1].loops += len(t.groups) > 1
    t.atom = None
    t.at += 1


def _repeat(t: Translation) -> None:
    source = t.source
    c = source[t.at]
    length, unbounded = 1, c in "*+"
    text = c
    if c == "{":
        match = _REPEAT.match(source, t.at)
        if match is None:
            t.put("\\{")
            t.at += 1
            return
        length = len(match[0])
        low = int(match[1])
        high = low if match[2] is None else (int(match[3]) if match[3] else None)
        if low > _MAX_REPEAT or (high or 0) > _MAX_REPEAT or (high is not None and low > high):
            raise PatternError("invalid repeat count", match[0])
        unbounded = high is None or high > 1
        text = match[0]
    if t.atom is None:
        raise PatternError("missing argument to repetition operator", source[t.at : t.at + length])
    if t.repeated:
        raise PatternError("invalid nested repetition operator", source[t.repeated_from : t.at + length])
    t.repeated_from = t.at
    t.at += length
    if source.startswith("?", t.at):
        text += "?"
        t.at += 1
    if unbounded:
        if t.atom[1]:
            t.risky = True
        t.loops += 1
        t.groups[-1].loops += 1
    t.out.append(text)
    t.repeated = True


def _dollar(t: Translation) -> None:
    t.put("$" if t.groups[-1].multiline else "\\Z")
    t.at += 1


def _caret(t: Translation) -> None:
    t.put("^")
    t.at += 1


def _dot(t: Translation) -> None:
    t.put(".")
    t.at += 1


def _escape(t: Translation) -> None:
    source = t.source
    if t.at + 1 == len(source):
        raise PatternError("trailing backslash at end of expression", "")
    c = source[t.at + 1]
    if c in "Ab" or c == "B":
        t.put("\\" + c)
    elif c == "z":
        t.put("\\Z")
    elif c == "C":
        t.foreign = True
        t.put(".")
    elif c == "Q":
        end = source.find("\\E", t.at + 2)
        literal = source[t.at + 2 : end if end >= 0 else len(source)]
        for char in literal:
            t.put(re.escape(char))
        t.at += len(literal) + (4 if end >= 0 else 2)
        return
    elif c in "pP":
        t.foreign = True
        t.at += _property_length(t)
        t.put(".")
        return
    elif c.lower() in _PERL_CLASSES:
        t.put(f"[{'^' if c.isupper() else ''}{_PERL_CLASSES[c.lower()]}]")
    else:
        text, length = _character(source, t.at)
        t.put(text)
        t.at += length
        return
    t.at += 2


def _property_length(t: Translation) -> int:
    match = re.compile(r"\\[pP](\{\^?\w+\}|[A-Z])").match(t.source, t.at)
    if match is None:
        raise PatternError("invalid character class range", t.source[t.at : t.at + 3])
    return len(match[0])


def _character(source: str, at: int) -> tuple[str, int]:
    """One escaped character as Python writes it, and how long it is in the source."""
    c = source[at + 1 : at + 2]
    if c in _ESCAPES:
        return _ESCAPES[c], 2
    if match := re.compile(r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2}))").match(
        source, at
    ):
        code = int(match[1] or match[2], 16) if match[3] is None else int(match[3], 8)
        if code <= 0x10FFFF:
            return re.escape(chr(code)), len(match[0])
    if c and ord(c) < 128 and not c.isalnum():
        return re.escape(c), 2
    raise PatternError("invalid escape sequence", source[at : at + 2])


def _bracket(t: Translation) -> None:
    source, start = t.source, t.at
    at = start + 1
    negated = source.startswith("^", at)
    at += negated
    parts: list[str] = []
    first = True
    while True:
        if at >= len(source):
            raise PatternError("missing closing ]", source[start:])
        if source[at] == "]" and not first:
            break
        first = False
        if source.startswith("[:", at) and (end := source.find(":]", at)) > 0:
            name = source[at + 2 : end]
            inverse = name.startswith("^")
            if name.lstrip("^") not in _POSIX_CLASSES:
                raise PatternError("invalid character class range", source[at : end + 2])
            if inverse:
                t.foreign = True
            parts.append(_POSIX_CLASSES[name.lstrip("^")])
            at = end + 2
            continue
        if source[at] == "\\" and source[at + 1 : at + 2].lower() in (*_PERL_CLASSES, "p"):
            at += _class_escape(t, at, parts)
            continue
        low, length = _bracket_character(source, at)
        if source.startswith("-", at + length) and not source.startswith("-]", at + length):
            high, more = _bracket_character(source, at + length + 1)
            if _code(low) > _code(high):
                raise PatternError("invalid character class range", source[at : at + length + 1 + more])
            parts.append(f"{low}-{high}")
            length += 1 + more
        else:
            parts.append(low)
        at += length
    t.put(f"[{'^' if negated else ''}{''.join(parts)}]")
    t.at = at + 1


def _class_escape(t: Translation, at: int, parts: list[str]) -> int:
    c = t.source[at + 1]
    if c in "pP":
        t.foreign = True
        t.at = at
        return _property_length(t)
    # Python counts the vertical tab as space, Go does not.
    parts.append(_PERL_CLASSES[c] if c.islower() else ("\\S\\v" if c == "S" else f"\\{c}"))
    return 2


def _bracket_character(source: str, at: int) -> tuple[str, int]:
    if at >= len(source):
        raise PatternError("missing closing ]", source[at:])
    if source[at] == "\\":
        return _character(source, at)
    return ("\\" + source[at] if source[at] in "[]^-&~|\\" else source[at]), 1


def _code(text: str) -> int:
    if text.startswith("\\x"):
        return int(text[2:], 16)
    return ord({"\\t": "\t", "\\n": "\n", "\\r": "\r"}.get(text, text[-1]))


_HANDLERS: Final = {
    "(": _open,
    ")": _close,
    "|": _alternate,
    "*": _repeat,
    "+": _repeat,
    "?": _repeat,
    "{": _repeat,
    "[": _bracket,
    "\\": _escape,
    "$": _dollar,
    "^": _caret,
    ".": _dot,
}
