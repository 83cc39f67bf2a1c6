"""Tables as kubectl lays them out."""

from __future__ import annotations

from typing import Any

from rayward.cli.grid import Grid, lay_out, read_table

_TABLE: dict[str, Any] = {
    "columnDefinitions": [{"name": "Name"}, {"name": "Ready", "priority": 0}, {"name": "IP", "priority": 1}],
    "rows": [
        {"cells": ["a", True, None], "object": {"metadata": {"name": "a", "namespace": "x"}}},
        {"cells": ["long-name", "two\nlines", "10.0.0.1"], "object": {"metadata": {"name": "long-name"}}},
    ],
}


def test_columns_line_up_and_the_last_has_no_tail() -> None:
    assert lay_out(read_table(_TABLE, wide=False)) == ["NAME        READY", "a           true", "long-name   two lines"]


def test_wide_shows_every_column_and_nothing_as_none() -> None:
    assert lay_out(read_table(_TABLE, wide=True))[1].split() == ["a", "true", "<none>"]


def test_rows_of_a_watch_keep_the_widths_of_before() -> None:
    grid = Grid(("A", "B"), (("1", "2"),))
    assert lay_out(grid, headers=False, at_least=(4, 1)) == ["1      2"]


def test_a_grid_is_decorated_without_losing_its_rows() -> None:
    grid = read_table(_TABLE, wide=False).titled("pod").with_column("X", ["1", "2"]).with_namespaces()
    assert grid.columns == ("NAMESPACE", "NAME", "READY", "X")
    assert grid.rows[0] == ("x", "pod/a", "true", "1")


def test_a_cell_cannot_speak_to_the_terminal() -> None:
    table = {"columnDefinitions": [{"name": "N"}], "rows": [{"cells": ["\x1b[31mred"]}]}
    assert "\x1b" not in lay_out(read_table(table, wide=False))[1]
