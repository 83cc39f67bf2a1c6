"""The recorded answers: one compressed file per theme, the same bytes for the same answers."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.contract import paths
from tests.contract.case import Case
from tests.contract.play import Answer

_FOLDER = Path(__file__).parent / "recorded"


class StaleError(Exception):
    """A case has no recorded answers, or was changed since."""


def load(theme: str) -> dict[str, Any]:
    """The recordings of a theme: case name to digest and answers."""
    file = _FOLDER / f"{theme}.json.gz"
    return json.loads(gzip.decompress(file.read_bytes())) if file.exists() else {}


def save(theme: str, recordings: Mapping[str, Any]) -> None:
    """Writes a theme's recordings."""
    _FOLDER.mkdir(exist_ok=True)
    text = json.dumps(recordings, indent=0, sort_keys=True)
    (_FOLDER / f"{theme}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def is_current(case: Case, recordings: Mapping[str, Any]) -> bool:
    """Whether the recording was made of the case as it is now."""
    return recordings.get(case.name, {}).get("digest") == case.digest


def record(case: Case, answers: list[Answer]) -> dict[str, Any]:
    """The entry to store for a case."""
    return {"digest": case.digest, "answers": answers}


def expected(case: Case, recordings: Mapping[str, Any], *, ours: bool) -> list[Answer]:
    """The answers a server must give: the real one's, or with `ours` those changed where the case says why."""
    if not is_current(case, recordings):
        raise StaleError(f"{case.name}: no recording of the case as it is now; run `python -m tests.contract record`")
    answers = recordings[case.name]["answers"]
    if not ours or not case.ours:
        return answers
    answers = copy.deepcopy(answers)
    for index, changes in case.ours.items():
        for path, value in changes.items():
            paths.put(answers[index], path, value)
    return answers
