"""The recorded table of broken releases: written by ``test_broken_releases``, read by the page that shows it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_POD: Final = re.compile(r"^pod \S+: ")
_RECORDING: Final = Path(__file__).with_name("broken_releases.json")


@dataclass(frozen=True)
class Row:
    """One way to break a release: seconds until it was told and until it served again, and what was said."""

    name: str
    condition: float
    shown: float
    back: float
    requests: int
    message: str
    get: str

    @property
    def says(self) -> str:
        """The first line, which has the cause; names of pods are drawn at random."""
        return _POD.sub("pod broken-…: ", self.message.partition("\n")[0]).replace("|", "\\|")


def save(rows: list[Row]) -> None:
    """Keep a complete run."""
    _RECORDING.write_text(json.dumps([asdict(row) for row in sorted(rows, key=lambda row: row.name)], indent=1) + "\n")


def load() -> list[Row]:
    """The last complete run."""
    return [Row(**row) for row in json.loads(_RECORDING.read_text())]


def lines_of(rows: list[Row]) -> list[str]:
    """A table, to be read by a person."""
    return [
        "| broken release | cause in the condition | in `get` | back | requests | what it says |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.name} | {row.condition:.1f} s | {row.shown:.1f} s | {row.back:.1f} s | {row.requests}, 0 lost "
            f"| {row.says} |"
            for row in sorted(rows, key=lambda row: row.name)
        ),
    ]
