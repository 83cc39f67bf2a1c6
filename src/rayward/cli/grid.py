"""Tables as people read them: the server's Table, laid out as kubectl does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rayward.kube.machinery.jsonvalue import Object, entries, section

_GAP = "   "
_NONE = "<none>"


@dataclass(frozen=True, slots=True)
class Grid:
    """Columns and rows of text; ``namespaces`` and ``names`` say what each row is about."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def cell(self, row: int, column: str) -> str:
        """One cell by the name of its column; empty where there is no such column."""
        return self.rows[row][self.columns.index(column)] if column in self.columns else ""

    def with_column(self, name: str, cells: Sequence[str]) -> Grid:
        """The same with one more column, or with other cells in the one of this name."""
        if name in self.columns:
            place = self.columns.index(name)
            rows = tuple((*row[:place], cell, *row[place + 1 :]) for row, cell in zip(self.rows, cells, strict=True))
            return replace(self, rows=rows)
        rows = tuple((*row, cell) for row, cell in zip(self.rows, cells, strict=True))
        return replace(self, columns=(*self.columns, name), rows=rows)

    def with_namespaces(self) -> Grid:
        """The same with the namespace of each row before it."""
        rows = tuple((namespace, *row) for namespace, row in zip(self.namespaces, self.rows, strict=True))
        return replace(self, columns=("NAMESPACE", *self.columns), rows=rows)

    def titled(self, title: str) -> Grid:
        """The same with every name said with its kind."""
        rows = tuple((f"{title}/{row[0]}", *row[1:]) for row in self.rows)
        return replace(self, rows=rows)


def read_table(table: Object, *, wide: bool) -> Grid:
    """The part of a server's Table that is shown; wide shows all of it."""
    definitions = entries(table, "columnDefinitions")
    shown = [place for place, column in enumerate(definitions) if wide or not column.get("priority")]
    rows = entries(table, "rows")
    about = [section(section(row, "object"), "metadata") for row in rows]
    return Grid(
        tuple(str(definitions[place]["name"]).upper() for place in shown),
        tuple(tuple(_text(row["cells"][place]) for place in shown) for row in rows),
        tuple(str(found.get("namespace") or "") for found in about),
        tuple(str(found.get("name") or "") for found in about),
    )


def _text(cell: Any) -> str:
    if cell is None:
        return _NONE
    if isinstance(cell, bool):
        return "true" if cell else "false"
    # a cell is one line, whatever an object's author put there
    return str(cell).replace("\n", " ").replace("\x1b", "")


def widths(grid: Grid) -> tuple[int, ...]:
    """How wide each column must be."""
    return tuple(max(map(len, column)) for column in zip(grid.columns, *grid.rows, strict=True))


def lay_out(grid: Grid, *, headers: bool = True, at_least: Sequence[int] = ()) -> list[str]:
    """The lines of a grid."""
    needed = widths(grid)
    if len(at_least) == len(needed):
        needed = tuple(map(max, needed, at_least))
    told = (grid.columns, *grid.rows) if headers else grid.rows
    return [_GAP.join(cell.ljust(width) for cell, width in zip(row, needed, strict=True)).rstrip() for row in told]
