"""The command line: what it loads, what it says, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rayward.cli.main import commands
from rayward.stack import control
from rayward.stack.errors import StackError
from tests.cli.rayward import run

_LOCAL = ("up", "down", "status", "doctor", "operator", "crds")
_CHANGES = ("lint", "diff", "plan", "set", "scale", "patch", "wait", "history", "undo")
_VERBS = (*_LOCAL, *_CHANGES, "apply", "get", "describe", "logs", "exec", "port-forward", "delete")
_HEAVY = ("aiohttp", "uvicorn", "asyncio", "yaml", "cryptography", "apsw")


def _rayward(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rayward.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['rayward', '--help']\n"
        "from rayward.cli.entry import run\n"
        "try: run()\n"
        "except SystemExit as end: assert not end.code\n"
        f"print([name for name in {_HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_names_every_command() -> None:
    shown = _rayward("--help").stdout
    assert all(f"\n  {name} " in shown for name in _VERBS)


@pytest.mark.parametrize(
    ("arguments", "code"), [(["nonsense"], 2), (["up", "--odd"], 2), (["up", "--api-only", "--port", "70000"], 2)]
)
def test_wrong_usage_ends_with_2(arguments: list[str], code: int) -> None:
    assert _rayward(*arguments).returncode == code


@pytest.mark.parametrize(
    ("words", "what", "usage"),
    [
        (("nonsense",), "No such command 'nonsense'.", "rayward [OPTIONS] COMMAND"),
        (("apply", "--odd"), "--odd", "rayward apply [OPTIONS]"),
        (("apply",), "Missing option '-f' / '--filename'.", ""),
        (("wait",), "Missing argument 'KIND/NAME'.", "rayward wait [OPTIONS] KIND/NAME"),
        (("scale", "raycluster/c", "--replicas", "many"), "'many' is not a valid", "rayward scale"),
    ],
)
def test_wrong_usage_says_what_why_and_what_next(words: tuple[str, ...], what: str, usage: str) -> None:
    done = run(*words)
    assert done.code == 2
    first, *lines = done.err.splitlines()
    assert first.startswith("error: ")
    assert what in first
    assert f"  why: usage: {usage}" in lines[0]
    assert lines[-1].startswith("  next: rayward ")
    assert lines[-1].endswith(" --help")
    as_json = json.loads(run(*words, "-o", "json").err)
    assert (as_json["code"], as_json["message"]) == (2, first.removeprefix("error: "))
    assert as_json["next"]


def test_status_of_nothing_is_no(tmp_path: Path) -> None:
    done = _rayward("status", "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert "rayward up" in done.stdout


def test_status_as_json(tmp_path: Path) -> None:
    done = _rayward("status", "-o", "json", "--data-dir", str(tmp_path))
    shown = json.loads(done.stdout)
    assert (shown["kind"], shown["running"], shown["kubeconfig"]) == ("Status", False, None)


def test_the_data_folder_can_come_from_the_environment(tmp_path: Path) -> None:
    shown = json.loads(_rayward("status", "-o", "json", RAYWARD_DATA_DIR=str(tmp_path / "x")).stdout)
    assert shown["dataDir"] == str(tmp_path / "x")


def test_down_of_nothing_says_so(tmp_path: Path) -> None:
    done = _rayward("down", "--data-dir", str(tmp_path))
    assert done.returncode == 0
    assert "nothing ran" in done.stderr


def test_a_stack_that_cannot_start_says_what_why_and_what_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise StackError("the stack did not start", "store.db is no database\nsee above", "read the logs")

    monkeypatch.setattr(control, "up", fail)
    done = run("up", "--api-only", "--data-dir", str(tmp_path))
    assert done.code == 10
    assert done.err.splitlines() == [
        "error: the stack did not start",
        "  why: store.db is no database",
        "  why: see above",
        "  next: read the logs",
    ]


_NAMELESS = {"init", "run", "crds", "lint"}
"""Their arguments are no objects of a server."""
_UNREAD = {
    "apply",
    "set",
    "scale",
    "patch",
    "replace",
    "logs",
    "exec",
    "port-forward",
    "run",
    "stop",
    "rerun",
    "crds",
    "operator",
}
"""They change something, or print what others wrote."""


@pytest.mark.parametrize("name", commands.list_commands(click.Context(commands)))
def test_every_command_has_examples_completion_and_json(name: str) -> None:
    found = commands.get_command(click.Context(commands), name)
    assert found is not None
    assert "Examples:\n" in (found.help or "")
    arguments = [one for one in found.params if isinstance(one, click.Argument)]
    if name not in _NAMELESS and arguments:
        assert getattr(arguments[0], "_custom_shell_complete", None) is not None
    if name not in _UNREAD:
        assert "-o" in [option for one in found.params for option in one.opts]


_INTERRUPTED = """
import atexit, os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {at!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
if {at!r} == "the end":
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["rayward", "lint", "--help"]
from rayward.cli.entry import run
run()
"""


@pytest.mark.parametrize(
    ("at", "code"),
    [("rayward.cli.main", 130), ("click", 130), ("rayward.cli.lint", 130), ("yaml", 130), ("the end", 0)],
)
def test_ctrl_c_while_it_loads_or_ends_is_no_traceback(at: str, code: int) -> None:
    command = [sys.executable, "-c", _INTERRUPTED.format(at=at)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
