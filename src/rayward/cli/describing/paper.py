"""Indented lines of names and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_NONE = "<none>"


class Paper:
    """Lines, written from the top."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self.lines)

    def say(self, line: str, depth: int = 0) -> None:
        self.lines.append("  " * depth + line)

    def field(self, name: str, value: Any, *, depth: int = 0, width: int = 18) -> None:
        """A name and its value; a value of several lines stays below its first."""
        first, *rest = str(value if value not in (None, "") else _NONE).splitlines() or [_NONE]
        self.say(f"{name + ':':<{width}}{first}", depth)
        for line in rest:
            self.say(" " * width + line, depth)

    def pairs(self, name: str, values: Mapping[str, Any], *, depth: int = 0, width: int = 18, sign: str = "=") -> None:
        """A name and several pairs, one on each line."""
        told = "\n".join(f"{key}{sign}{value}" for key, value in sorted(values.items()))
        self.field(name, told, depth=depth, width=width)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, depth: int = 1) -> None:
        """A table with its heads underlined."""
        underlined = tuple("-" * len(column) for column in columns)
        told = [[" ".join(cell.split()) for cell in row] for row in (columns, underlined, *rows)]
        widths = [max(map(len, column)) for column in zip(*told, strict=True)]
        for cells in told:
            self.say("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(), depth)
