"""The logs of all parts as one stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.stack.folder import Folder
from rayward.stack.following import Logs


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.logs.mkdir()
    return folder


def _said(logs: Logs) -> list[tuple[str, str]]:
    return [(said.part, said.line) for said in logs.follow(lambda: True)]


def test_only_what_is_said_from_now_on(folder: Folder) -> None:
    log = folder.logs / "node.log"
    log.write_text("before\n")
    logs = Logs(folder)
    with log.open("a") as more:
        more.write("one\ntwo\nhal")
    assert _said(logs) == [("node", "one"), ("node", "two")]
    with log.open("a") as more:
        more.write("f\n")
    assert _said(logs) == [("node", "half")]


def test_a_part_that_speaks_for_the_first_time_is_heard_from_its_start(folder: Folder) -> None:
    logs = Logs(folder)
    (folder.logs / "late.log").write_text("here I am\n")
    assert _said(logs) == [("late", "here I am")]


def test_a_log_that_took_the_place_of_a_full_one_is_read_from_its_start(folder: Folder) -> None:
    log = folder.logs / "node.log"
    log.write_text("long ago, and a good deal of it\n")
    logs = Logs(folder)
    log.replace(log.with_suffix(".log.1"))
    log.write_text("new\n")
    assert _said(logs) == [("node", "new")]
