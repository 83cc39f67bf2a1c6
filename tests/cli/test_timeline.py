"""What ``rayward timeline`` prints: since when, and the last lines of what ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.changes.timeline import Entry, Recorded, Store
from rayward.changes.timeline.page import page
from rayward.cli.timeline import begins, table

_FIRST, _LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"


def _entry(at: str, detail: str = "", what: str = "pod", text: str = "container ray ended with exit code 1") -> Entry:
    return Entry(at, "team", "Pod", "p", what, text, detail=detail)  # pyright: ignore[reportArgumentType]


def _store(folder: Path, *entries: Entry) -> Store:
    store = Store(folder)
    store.append(entries)
    return store


def test_the_local_record_says_since_when_it_records_anything(tmp_path: Path) -> None:
    """Not since the object's first entry: that nothing is told of the time before means that nothing happened."""
    store = _store(tmp_path, _entry(_FIRST), _entry(_LATER))
    assert begins(store, [_entry(_LATER)]) == (_FIRST, f"recorded by the local stack since {_FIRST}, on disk")


@pytest.mark.parametrize(("durable", "kept"), [(True, "on disk"), (False, "in memory, which ends with its process")])
def test_so_does_the_operators(durable: bool, kept: str) -> None:
    assert begins(Recorded(_FIRST, durable), ()) == (_FIRST, f"recorded by the operator since {_FIRST}, {kept}")


def test_without_a_record_the_first_trace_counts(tmp_path: Path) -> None:
    for store in (None, Store(tmp_path)):
        since, told = begins(store, [_entry(_LATER)])
        assert since == _LATER
        assert told.startswith("no recording was found")
        assert begins(store, ())[0] is None


def test_the_page_says_it_too() -> None:
    assert f"<p>recorded since {_FIRST}</p>" in page("x", [_entry(_LATER)], f"recorded since {_FIRST}")


def test_the_last_lines_of_what_ended_are_below_its_line() -> None:
    lines = "\n".join(f"line {number}" for number in range(9))
    message = _entry(_LATER, "why it is so", "condition", "Ready is False: R")
    printed = list(table([_entry(_FIRST, lines), message]))
    assert printed[2:7] == [f"    line {number}" for number in range(4, 9)]
    assert len(printed) == 8
    assert printed[7].startswith(_LATER)


def test_an_edit_has_its_fields_below_it_with_the_values_before_and_after() -> None:
    fields = "spec.rayVersion: 2.60.0 -> 2.61.0\nspec.suspend: (none) -> true"
    edit = _entry(_FIRST, fields, "spec", "generation 2 was requested")
    assert list(table([edit]))[2:] == [f"    {line}" for line in fields.splitlines()]
    made = page("x", [_entry(_FIRST, "spec.a: <b> -> c", "spec", "generation 2 was requested")])
    assert "<pre>spec.a: &lt;b&gt; -&gt; c</pre>" in made


def test_nothing_is_a_table_too() -> None:
    (heading,) = table(())
    assert heading.startswith("TIME")
