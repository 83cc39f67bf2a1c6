"""Manifests as text: the documents of a file, and where each value was written, inside block scalars too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rayward.changes.lint.finding import Edit
from rayward.kinds.serveconfig.finding import Path
from rayward.kinds.serveconfig.reading import Reading

Place = tuple[int, int]

_separator: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_block: Final = re.compile(r":\s*(?:[&!]\S+\s+)*\|[+-]?(\d?)[+-]?\s*(?:#.*)?$").search
_step: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)").finditer


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    Attributes:
        file: Where it comes from.
        lines: The lines of the whole file.
        offset: How many lines of the file come before it.
        reading: Its value, and the place of each part within the document.
    """

    file: str
    lines: list[str] = field(repr=False)
    offset: int
    reading: Reading

    @property
    def value(self) -> Any:
        return self.reading.value

    def place(self, path: Path) -> Place:
        """Where something was written in the file, or what it lies in."""
        line, column = self.reading.place(path)
        return (max(line, 1) + self.offset, max(column, 1))

    def place_within(self, path: Path, line: int, column: int) -> Place:
        """Where a line and column of the text at ``path`` lie in the file; the key, if it is not a literal block."""
        start, key_column = self.place(path)
        found = _block(self.lines[start - 1]) if start <= len(self.lines) else None
        if found is None or line < 1:
            return (start, key_column)
        indent = self._indent(start, found[1], key_column)
        return (start + line, column + indent)

    def rename(self, path: Path, name: str) -> Edit | None:
        """The edit that gives a key another name."""
        line, column = self.place(path)
        old = str(path[-1])
        text = self.lines[line - 1][column - 1 :]
        if path not in self.reading.places or not text.startswith(old):
            return None
        return Edit(line, column, line, column + len(old), name)

    def delete(self, path: Path) -> Edit | None:
        """The edit that removes a key of a block mapping with its value; None in flow style, for commas are there."""
        line, column = self.place(path)
        text = self.lines[line - 1]
        indent = column - 1
        if path not in self.reading.places or text[:indent].strip() or not text[indent:].startswith(str(path[-1])):
            return None
        end = line
        while end < len(self.lines) and _belongs(self.lines[end], indent):
            end += 1
        while end > line and not self.lines[end - 1].strip():
            end -= 1
        return Edit(line, 1, end + 1, 1, "")

    def _indent(self, start: int, explicit: str, key_column: int) -> int:
        if explicit:
            return key_column - 1 + int(explicit)
        for text in self.lines[start:]:
            if text.strip():
                return len(text) - len(text.lstrip(" "))
        return 0


def documents(text: str) -> Iterator[tuple[int, str]]:
    """The documents of a text, each with how many lines come before it."""
    start = 0
    for found in _separator.finditer(text):
        yield text.count("\n", 0, start), text[start : found.start()]
        start = min(found.end() + 1, len(text))
    yield text.count("\n", 0, start), text[start:]


def path_of(text: str) -> Path:
    """``spec.workerGroupSpecs[0].replicas`` as steps."""
    return tuple(int(found[1]) if found[1] is not None else found[2] for found in _step(text))


def _belongs(text: str, indent: int) -> bool:
    """Whether a line is part of the value of a key at that indentation."""
    stripped = text.lstrip(" ")
    if not stripped or len(text) - len(stripped) > indent:
        return True
    return stripped.startswith("- ") and len(text) - len(stripped) == indent
