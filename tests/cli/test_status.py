"""``rayward status``: what runs, and what befell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.cli.status import last_end
from rayward.stack import control
from rayward.stack.state import PartState, StackState
from tests.cli.rayward import run

_FALLEN = PartState("node", 7, "running", 2, "was killed by SIGKILL", "out of memory", 40.0)


@pytest.mark.parametrize(
    ("part", "told"),
    [(PartState("node", 7, "running"), "-"), (_FALLEN, "was killed by SIGKILL, 60s ago")],
    ids=["never fell", "fell"],
)
def test_how_a_part_ended_last(part: PartState, told: str) -> None:
    assert last_end(part, 100.0) == told


def test_restarts_and_last_words_are_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(control, "status", lambda _folder: StackState(1, 0.0, parts=(_FALLEN,)))
    lines = run("status", "--data-dir", str(tmp_path)).out.splitlines()
    assert lines[1].split()[:4] == ["node", "running", "7", "2"]
    assert lines[2].strip() == "last log line: out of memory"
    told = run("status", "-o", "json", "--data-dir", str(tmp_path)).json()
    assert told["stack"]["parts"][0]["restarts"] == 2
