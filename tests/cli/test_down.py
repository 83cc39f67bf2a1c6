"""``rayward down``: what is said of the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rayward.stack import control, state
from rayward.stack.folder import Folder
from tests.cli.rayward import run
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("ran", "flags", "said"),
    [
        (True, [], "stopped; objects stay in {}\n"),
        (False, [], "nothing ran; objects stay in {}\n"),
        (True, ["--purge"], "stopped; deleted {}\n"),
    ],
    ids=["stopped", "nothing ran", "wiped"],
)
def test_people_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ran: bool, flags: list[str], said: str
) -> None:
    monkeypatch.setattr(control, "down", lambda *_args, **_options: ran)
    done = run("down", *flags, "--data-dir", str(tmp_path))
    assert (done.code, done.out, done.err) == (0, "", said.format(tmp_path))


@pytest.mark.parametrize("ran", [True, False])
@pytest.mark.parametrize("purge", [True, False])
def test_programs_get_one_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ran: bool, purge: bool) -> None:
    monkeypatch.setattr(control, "down", lambda *_args, **_options: ran)
    done = run("down", *(["--purge"] if purge else []), "-o", "json", "--data-dir", str(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert done.json() == {
        "apiVersion": "cli.rayward/v1",
        "kind": "Down",
        "dataDir": str(tmp_path),
        "ran": ran,
        "purged": purge,
    }


def test_who_interrupts_a_purge_is_told_that_nothing_is_deleted(tmp_path: Path) -> None:
    """Interrupted once the supervisor was asked to stop, which it does at its own pace."""
    folder = Folder(tmp_path / "data")
    supervisor = control.up(folder, tell=lambda _text: None).state.supervisor
    os.kill(supervisor, signal.SIGSTOP)
    command = [sys.executable, "-m", "rayward.cli", "down", "--purge", "--data-dir", str(folder.root)]
    try:
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as stopping:
            eventually(lambda: _is_asked_to_end(supervisor))
            stopping.send_signal(signal.SIGINT)
            _, said = stopping.communicate()
        assert stopping.returncode == 130
        assert "interrupted: the stop goes on in the background, and nothing is deleted\n  next: rayward down" in said
        assert state.is_running(folder)
    finally:
        os.kill(supervisor, signal.SIGCONT)
        control.down(folder, purge=True)


def _is_asked_to_end(pid: int) -> bool:
    """Whether SIGTERM is pending for a process that is stopped."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pending = next(int(line.split()[1], 16) for line in lines if line.startswith("ShdPnd:"))
    return bool(pending & 1 << (signal.SIGTERM - 1))
