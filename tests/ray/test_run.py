"""``rayward run`` on a machine where nothing is: the stack comes up, the program runs on real Ray, Ctrl-C leaves it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.screen import on_a_terminal

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]


@contextmanager
def _nothing(folder: Path) -> Generator[dict[str, str]]:
    """An environment without a server, kubeconfig or settings; what is started in it is ended."""
    home = folder / "home"
    home.mkdir()
    environment = {name: text for name, text in os.environ.items() if name not in ("KUBECONFIG", "XDG_DATA_HOME")}
    environment |= {"HOME": str(home), "RAYWARD_DATA_DIR": str(folder / "data"), "RAYWARD_INTERRUPT_SECONDS": "120"}
    try:
        yield environment
    finally:
        subprocess.run(_rayward("down", "--purge"), env=environment, check=True, timeout=300)


def _rayward(*words: str) -> list[str]:
    return [sys.executable, "-m", "rayward.cli", *words]


def test_a_program_runs_from_nothing_and_ctrl_c_leaves_it(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with _nothing(tmp_path) as environment:
        refused = _done(environment, empty, "run", "--", "true")
        assert (refused.returncode, "rayward run --yes" in refused.stderr) == (2, True)
        program = "import ray; ray.init(log_to_driver=False); print(ray.get(ray.remote(lambda: 6 * 7).remote()))"
        done = _done(environment, empty, "run", "--yes", "--name", "first", "--", "python", "-c", program)
        assert done.returncode == 0, done.stderr
        assert "42" in done.stdout.splitlines()
        assert "rayjob/first succeeded" in done.stderr
        assert not list(empty.iterdir())
        _leave_twice(environment, empty)
        table = _done(environment, empty, "get", "rayjobs").stdout
        assert [line.split()[:2] for line in table.splitlines()[1:]] == [["first", "SUCCEEDED"], ["long", "STOPPED"]]


def _leave_twice(environment: dict[str, str], folder: Path) -> None:
    """Ctrl-C says how to return; a second one asks whether to stop the job, and is told to."""
    command = _rayward("run", "--name", "long", "--", "bash", "-c", "echo began; sleep 600")
    with on_a_terminal(command, environment, folder) as (following, screen):
        screen.until(b"began")
        following.send_signal(signal.SIGINT)
        screen.until(b"rayjob/long is still running; follow it: rayward logs rayjob/long -f")
        screen.until(b"press Ctrl-C once more to stop it")
        following.send_signal(signal.SIGINT)
        screen.until(b"Stop rayjob/long?")
        screen.answer("y")
        screen.until(b"rayjob/long was stopped")
        assert following.wait(timeout=120) == 130


def _done(environment: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _rayward(*words), env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
