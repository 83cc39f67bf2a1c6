"""Go's regular expressions, by the engine that Go's own follows: linear in the text, whatever the pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import re2

_re2: Any = re2  # it has no types

__all__ = ["Pattern", "PatternError", "compile_pattern"]

_TOO_LARGE: Final = "expression too large"
# RE2's names of what is wrong with a pattern, where Go's differ.
_PROBLEMS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "pattern too large - compile failed": _TOO_LARGE,
}
# Go takes longer ones. The time that RE2 needs grows with the square: "a?" 100,000 times is 20 seconds.
_LONGEST: Final = 10_000
# Few letters may stand for half a megabyte of program.
_LONGEST_KEPT: Final = 1_000
_NAMED_CAPTURE: Final = "invalid named capture"
# Go has no \C, "any byte"; between \Q and \E it is text.
_ANY_BYTE: Final = "\\C"
_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


class PatternError(ValueError):
    """The pattern is not a regular expression; the text is Go's."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


class Pattern:
    __slots__ = ("_bytes", "_set", "_text")

    def __init__(self, source: str) -> None:
        options = _re2.Options()
        options.log_errors = False
        options.never_capture = True
        try:
            self._text = _re2.compile(source, options=options)
        except _re2.error as error:
            raise _in_go(source, error.args[0].decode()) from None
        if any(match[0] == _ANY_BYTE for match in _ESCAPED.finditer(source)):
            raise PatternError("invalid escape sequence", _ANY_BYTE)
        self._bytes = _re2.compile(source.encode(), options=options)
        self._set = _searcher(source, options)

    def search(self, text: str) -> bool:
        """Whether it matches anywhere in a text."""
        # A set answers ten times sooner than a search for spans, but says "no" too when its memory does not suffice.
        return bool(self._set is not None and self._set.Match(text)) or self._bytes.search(text.encode()) is not None

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """The matched parts from left to right, at most ``limit`` of them unless that is negative."""
        found: list[str] = []
        end = -1
        for match in self._text.finditer(text) if limit else ():
            # Go drops an empty match that touches the match before it.
            if match.end() == match.start() == end:
                continue
            end = match.end()
            found.append(match.group())
            if len(found) == limit:
                break
        return found


def _searcher(source: str, options: Any) -> Any:
    """A set of this one pattern; None where a set has no room for it: only the expression itself may be larger."""
    made = _re2.Set.SearchSet(options)
    made.Add(source)
    try:
        made.Compile()
    except _re2.error:
        return None  # to ask a set that did not compile ends the process
    return made


def compile_pattern(source: str) -> Pattern:
    """Compiles a pattern; a short one is kept for the next time.

    Raises:
        PatternError: Go would not compile it, or it is longer than what this engine compiles at once.
    """
    if len(source) > _LONGEST:
        raise PatternError(_TOO_LARGE, source)
    return _kept(source) if len(source) <= _LONGEST_KEPT else Pattern(source)


_kept: Final = lru_cache(maxsize=512)(Pattern)


def _in_go(source: str, error: str) -> PatternError:
    problem, _, part = error.partition(": ")
    if part in ("(?<=", "(?<!"):
        return PatternError(_NAMED_CAPTURE, source[source.index(part) :])
    return PatternError(_PROBLEMS.get(problem, problem), part)
