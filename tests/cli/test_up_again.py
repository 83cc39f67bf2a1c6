"""``rayward up`` and ``rayward down`` as programs: what they remember, and what goes on when they are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.stack import control, process, state
from rayward.stack.folder import Folder
from tests.waiting import eventually

_SIZE = "1 node with 3 CPUs, 5.0 GiB of memory (--cpus and --memory change it; flags are remembered until down --purge)"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "data")
    yield folder
    control.down(folder, purge=True)


def _begin(folder: Folder, verb: str, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rayward.cli", verb, *flags, "--data-dir", str(folder.root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _run(folder: Folder, verb: str, *flags: str) -> str:
    with _begin(folder, verb, *flags) as running:
        _, said = running.communicate()
    assert running.returncode == 0, said
    return said


def _interrupt(running: subprocess.Popen[str]) -> str:
    running.send_signal(signal.SIGINT)
    _, said = running.communicate()
    assert running.returncode == 130, said
    return said


def test_size_and_images_outlive_interruptions_down_and_the_death_of_everything(folder: Folder) -> None:
    image = f"rayproject/ray={sys.prefix}"
    with _begin(folder, "up", "--cpus", "3", "--memory", "5Gi", "--image", image, "--operator", "none") as starting:
        assert starting.stderr is not None
        assert starting.stderr.readline() == f"starting in {folder.root}\n"
        said = _interrupt(starting)
    assert "interrupted: the start goes on in the background\n  next: rayward status" in said
    eventually(lambda: state.is_running(folder))
    assert _SIZE in _run(folder, "up"), "the start that was interrupted had its flags"

    seen = control.status(folder)
    assert seen is not None
    parts = {part.name: part for part in seen.parts}
    # The supervisor waits for a part that does not hear it, and the command for the supervisor.
    os.kill(parts["apiserver"].pid, signal.SIGSTOP)
    with _begin(folder, "down") as stopping:
        eventually(lambda: not process.is_alive(parts["node"].pid, parts["node"].born))
        said = _interrupt(stopping)
    assert "interrupted: the stop goes on in the background\n  next: rayward down" in said
    os.kill(parts["apiserver"].pid, signal.SIGCONT)
    assert "objects stay" in _run(folder, "down")
    assert not state.is_running(folder)

    remembered = f"as before: --cpus 3 --memory 5Gi --image {image} --operator none (remembered until down --purge)"
    said = _run(folder, "up")
    assert remembered in said
    assert _SIZE in said

    seen = control.status(folder)
    assert seen is not None
    for pid in (seen.supervisor, *(part.pid for part in seen.parts if part.pid)):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not state.is_running(folder) and state.unsupervised(folder) is None)
    said = _run(folder, "up")
    assert remembered in said
    assert _SIZE in said
