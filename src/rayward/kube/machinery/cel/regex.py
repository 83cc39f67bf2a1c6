"""Go's regular expressions (RE2 syntax) on Python's engine.

Python's engine backtracks, so only patterns that cannot run away are given to it; the rest go to RE2 itself, which
the CEL library carries, at a hundred times the price.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rayward.kube.machinery.cel import library
from rayward.kube.machinery.cel.regexsyntax import PatternError, translate

__all__ = ["Pattern", "PatternError", "compile_pattern"]

_SHORT_TEXT: Final = 512


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression; ``search`` says whether it matches anywhere in a text."""

    source: str
    search: Callable[[str], bool]
    _python: re.Pattern[str] | None = None

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """The matched parts from left to right, at most ``limit`` of them unless that is negative."""
        # A search that fails is where a backtracking engine runs away: RE2 answers that part.
        if limit == 0 or not library.re2_search(self.source, text):
            return []
        python = self._python or _python_pattern(self.source)
        found: list[str] = []
        end = -1
        for match in python.finditer(text):
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
    translated = translate(source)

    def by_re2(text: str) -> bool:
        return library.re2_search(source, text)

    if translated.risky or translated.foreign:
        return Pattern(source, by_re2)
    try:
        python = re.compile(translated.text, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return Pattern(source, by_re2)
    find = python.search

    def search(text: str) -> bool:
        return find(text) is not None

    def search_short(text: str) -> bool:
        # Several loops in a row cost a power of the length.
        return find(text) is not None if len(text) <= _SHORT_TEXT else by_re2(text)

    return Pattern(source, search if translated.loops < 2 else search_short, python)


def _python_pattern(source: str) -> re.Pattern[str]:
    translated = translate(source)
    if translated.foreign:
        raise PatternError("not supported in a search for parts", source)
    return re.compile(translated.text, re.ASCII)
