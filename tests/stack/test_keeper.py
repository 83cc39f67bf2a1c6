"""A stack in the foreground ends with the process that keeps it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rayward.stack import process, state
from rayward.stack.folder import Folder
from tests.waiting import eventually

_KEEPER = """
import os, subprocess, sys
command = [sys.executable, "-m", "rayward.stack.supervisor", "--data-dir", sys.argv[1], "--api-only"]
print(subprocess.Popen([*command, "--keeper", str(os.getpid())]).pid, flush=True)
sys.stdin.read()
"""


def test_a_supervisor_whose_keeper_has_ended_before_it_began_starts_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rayward.stack.supervisor", "--data-dir", str(tmp_path), "--api-only"]
    # a child of pytest, kept by somebody else
    ended = subprocess.run([*command, "--keeper", str(os.getppid())], check=False)
    assert (ended.returncode, list(tmp_path.iterdir())) == (0, [])


@pytest.mark.skipif(sys.platform != "linux", reason="a process hears of its parent's end on Linux alone")
def test_a_killed_keeper_takes_its_stack_with_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    command = [sys.executable, "-c", _KEEPER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        supervisor = int(keeper.stdout.readline())
        eventually(lambda: (seen := state.current(folder)) is not None and seen.ready)
        running = state.read(folder)
        assert running is not None
        parts = [(part.pid, process.born(part.pid)) for part in running.parts]
        born = process.born(supervisor)
        keeper.send_signal(signal.SIGKILL)
        for pid, when in (*parts, (supervisor, born)):
            eventually(lambda pid=pid, when=when: not process.is_alive(pid, when))
    assert state.current(folder) is None
