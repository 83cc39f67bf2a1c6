"""The rows of the tables of fields about a status, held to what was written in a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tools import fields
from tools.fields import Effect, Row


def assert_reported(rows: Mapping[str, Row], statuses: Iterable[Any]) -> None:
    """Each field that is reported was written at some time, and none that is never set."""
    written = {path for status in statuses for path in _paths(status, "status", set(rows))}
    told = {path for path, row in rows.items() if row.effect is Effect.REPORTED and path != "status"}
    unset = {path for path, row in rows.items() if row.effect is Effect.UNSET}
    assert not told - written, f"never reported: {sorted(told - written)}"
    assert not unset & written, f"reported all the same: {sorted(unset & written)}"


def _paths(value: Any, at: str, rows: set[str]) -> Iterator[str]:
    """The fields that have a value; names of a map are written as the tables do."""
    if at in fields.KUBERNETES:
        return
    if isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item, f"{at}[]", rows)
    elif isinstance(value, dict):
        for name, part in value.items():
            path = f"{at}.{name}"
            if part not in (None, ""):
                yield path
                yield from _paths(part, path if path in rows else f"{at}{{}}", rows)
