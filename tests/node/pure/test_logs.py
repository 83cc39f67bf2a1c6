"""Logs: written, rotated, read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.node.logs import reader
from rayward.local.node.logs.reader import Wanted
from rayward.local.node.logs.tail import last_lines
from rayward.local.node.sandbox.logfile import LogFile


@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\r", b"")), max_size=30), st.integers(200, 2000))
def test_a_log_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], largest: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "0.log"
    log = LogFile(path, largest, kept=1000)
    for piece in pieces:
        log.write("stdout", piece)
    log.close()
    whole = b"".join(pieces)
    if whole and not whole.endswith(b"\n"):
        whole += b"\n"
    assert reader.text(path, Wanted()) == whole


def test_only_so_many_files_of_a_log_are_kept(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "0.log", 1000, kept=3)
    for number in range(200):
        log.write("stdout", b"line %d\n" % number)
    log.close()
    assert len(list(tmp_path.iterdir())) == 3
    assert reader.text(tmp_path / "0.log", Wanted(tail=1)) == b"line 199\n"


def test_parts_of_long_lines_are_joined(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "0.log", 10**7, kept=3)
    log.write("stderr", b"x" * 40_000 + b"\nshort\n")
    log.close()
    assert reader.text(tmp_path / "0.log", Wanted(tail=2)) == b"x" * 40_000 + b"\nshort\n"
    assert last_lines(tmp_path / "0.log").endswith("x\nshort\n")
    assert len(last_lines(tmp_path / "0.log")) == 2048
