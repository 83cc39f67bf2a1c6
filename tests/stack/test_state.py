"""Who runs in a folder, and who is asked to end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.stack import control, state
from rayward.stack.folder import Folder, wipe
from rayward.stack.state import StackState


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "data")
    folder.run.mkdir(parents=True)
    return folder


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_state_left_by_a_dead_supervisor_is_nobodys(folder: Folder, stranger: subprocess.Popen[bytes]) -> None:
    """The number may be another process's by now, and a new supervisor may hold the lock but not have spoken yet."""
    state.write(folder, StackState(stranger.pid, 0.0, born="long ago", ready=True))
    lock = state.take_lock(folder)
    assert lock is not None
    try:
        assert control.status(folder) is None
        with pytest.raises(control.StackError):
            control.down(folder, purge=False, timeout=0.1)
        assert stranger.poll() is None
    finally:
        os.close(lock)


def test_who_only_asks_is_not_taken_for_a_supervisor(folder: Folder) -> None:
    lock = state.take_lock(folder)
    assert lock is not None
    assert state.is_running(folder)
    os.close(lock)
    assert not state.is_running(folder)


def test_a_wipe_leaves_what_is_not_ours(folder: Folder) -> None:
    mine = folder.root / "thesis.txt"
    mine.write_text("the only copy")
    wipe(folder)
    assert folder.run.exists(), "no supervisor ever ran here"
    folder.lock.touch()
    wipe(folder)
    assert [path.name for path in folder.root.iterdir()] == ["thesis.txt"]
    mine.unlink()
    folder.lock.touch()
    wipe(folder)
    assert not folder.root.exists()
