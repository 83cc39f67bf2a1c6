"""The runs of containers on disk."""

from __future__ import annotations

from pathlib import Path

from rayward.local.node import runs
from rayward.local.node.folders import PodFolder


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_runs_before_the_oldest_are_forgotten_with_their_logs(tmp_path: Path) -> None:
    folder = PodFolder(tmp_path, "u")
    place, logs = folder.container("c"), folder.log("c", 0).parent
    for made in (place, logs):
        made.mkdir(parents=True)
    for attempt in (8, 9, 10, 11):
        for kind in ("json", "started", "exit", "message"):
            (place / f"{attempt}.{kind}").write_text("{}")
        (place / str(attempt) / "tmp").mkdir(parents=True)
        folder.log("c", attempt).touch()
        folder.log("c", attempt).with_name(f"{attempt}.log.20260102-030405.000000001").touch()
    runs.forget(folder, "c", oldest=10)
    kinds = ("", ".exit", ".json", ".message", ".started")
    assert _names(place) == sorted(f"{attempt}{kind}" for attempt in (10, 11) for kind in kinds)
    assert _names(logs) == sorted(
        f"{attempt}.log{rotated}" for attempt in (10, 11) for rotated in ("", ".20260102-030405.000000001")
    )


def test_there_may_be_nothing_to_forget(tmp_path: Path) -> None:
    runs.forget(PodFolder(tmp_path, "u"), "c", oldest=3)
