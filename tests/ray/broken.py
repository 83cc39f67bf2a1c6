"""The recorded table of broken releases: written by ``test_broken_releases``, read by the page that shows it.

A run records only where it is asked to, with ``RAYWARD_RECORD=1`` in the environment.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.ray.breaking import CASES

_POD: Final = re.compile(r"^pod \S+: ")
_PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "broken-releases.md"
_TEXT: Final = """# Releases that cannot work

What you see when a release cannot work, how soon, and what brings the service back. Each row was recorded from a
RayService on real Ray that was serving and was asked 20 times a second: the release was applied, the cause was waited
for, and the former spec was applied again. A request without an answer within 30 s counts as lost. Where a row with
another import path says "rolled back", it was given in place by annotation `rayward.dev/serve-config-upgrade: InPlace`;
without that it gets a cluster of its own.

- **Rejected** (a message that begins with a field): nothing that runs is changed. Correct the field and apply again.
- **Failed in place** (`rolled back to the previous Serve config`): the operator sends the previous config again by
  itself; the message stays until you apply another spec.
- **Failed on a new cluster**: the old cluster goes on serving. `rayward undo rayservice/NAME` or a corrected spec
  ends the new one.

Columns: seconds from the edit until the cause is in a condition (`Stalled` or `Progressing`) and is printed by
`rayward get rayservices`; seconds from the former spec until the service is complete again; what brings it back;
requests while that happened; the first line of the message; the column PROGRESS. The whole traceback or log is in
`rayward describe rayservice NAME`. Of pip packages Ray reports a failure after three attempts; until then the condition
names what it installs.

No request is lost by a new `user_config` either: where a deployment has one replica, another one starts with it before
that one ends ([A new user_config](../concepts/releases.md#a-new-user_config)).

{table}

Recorded by `RAYWARD_RECORD=1 pytest -m soak tests/ray/test_broken_releases.py` on two cores; this page is written by
`python -m tests.ray.broken`.
"""
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
    lost: int = 0

    @property
    def says(self) -> str:
        """The first line, which has the cause; names of pods are drawn at random."""
        return _cell(_POD.sub("pod POD: ", self.message.partition("\n")[0]))

    @property
    def progress(self) -> str:
        """The cell of the column PROGRESS."""
        head, row = self.get.splitlines()[:2]
        return _cell(row[head.index("PROGRESS") :].partition("   ")[0])


def is_recording() -> bool:
    """Whether this run is to write what it sees into the checkout."""
    return os.environ.get("RAYWARD_RECORD") == "1"


def save(rows: list[Row]) -> None:
    """Keep what a run has recorded, in place of what was recorded before."""
    rows = list({row.name: row for row in (*load(), *rows)}.values())
    _RECORDING.write_text(json.dumps([asdict(row) for row in sorted(rows, key=lambda row: row.name)], indent=1) + "\n")


def load() -> list[Row]:
    """The last recording of each."""
    return [Row(**row) for row in json.loads(_RECORDING.read_text())]


def lines_of(rows: list[Row]) -> list[str]:
    """A table, to be read by a person."""
    mends = {case.name: case.back for case in CASES}
    return [
        "| broken release | cause in the condition | in `get` | back | by | requests | condition | `get` |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {row.name} | {row.condition:.1f} s | {row.shown:.1f} s | {row.back:.1f} s | {mends.get(row.name, '')} "
            f"| {row.requests}, {row.lost} lost "
            f"| {row.says} | {row.progress} |"
            for row in sorted(rows, key=lambda row: row.name)
        ),
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """``docs/reference/broken-releases.md``."""
    return _TEXT.format(table="\n".join(lines_of(load())))


if __name__ == "__main__":
    _PAGE.write_text(page())
