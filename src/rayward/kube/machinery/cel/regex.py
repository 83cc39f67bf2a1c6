"""Go's regular expressions, by the engine that Go's own follows: linear in the text, whatever the pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import re2

_re2: Any = re2  # it has no types

__all__ = ["Pattern", "PatternError", "compile_pattern"]

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
    "pattern too large - compile failed": "expression too large",
}
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
        self._set = _re2.Set.SearchSet(options)
        self._set.Add(source)
        self._set.Compile()

    def search(self, text: str) -> bool:
        """Whether it matches anywhere in a text."""
        # A set answers ten times sooner than a search for spans, but says "no" too when its memory does not suffice.
        return bool(self._set.Match(text)) or self._bytes.search(text.encode()) is not None

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


@lru_cache(maxsize=1024)
def compile_pattern(source: str) -> Pattern:
    """Compiles a pattern.

    Raises:
        PatternError: Go would not compile it.
    """
    return Pattern(source)


def _in_go(source: str, error: str) -> PatternError:
    problem, _, part = error.partition(": ")
    if part in ("(?<=", "(?<!"):
        return PatternError(_NAMED_CAPTURE, source[source.index(part) :])
    return PatternError(_PROBLEMS.get(problem, problem), part)
