"""What ``rayward doctor`` makes of a machine."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from rayward.cli import checks
from rayward.cli.checks import Check, Verdict
from rayward.stack import state
from rayward.stack.folder import Folder
from rayward.stack.state import PartState
from tests.cli.rayward import Rayward, run
from tests.waiting import eventually

_FOLDER = Folder(Path("/data"))
_GIB = 1 << 30


@pytest.mark.parametrize(
    ("check", "verdict", "remedy"),
    [
        (checks.python((3, 12, 1)), "ok", ""),
        (checks.python((3, 10, 9)), "fail", "install Python 3.11"),
        (checks.disk(_FOLDER, 5 * _GIB), "ok", ""),
        (checks.disk(_FOLDER, 5), "fail", "--data-dir"),
        (checks.memory(8 * _GIB), "ok", ""),
        (checks.memory(3 * _GIB), "warn", "one small Ray cluster"),
        (checks.memory(1), "warn", "2 GiB"),
        (checks.memory(None), "warn", ""),
        (checks.loopback(""), "ok", ""),
        (checks.loopback("Cannot assign requested address"), "warn", "127.43.0.1"),
        (checks.ray("2.60.0"), "ok", ""),
        (checks.ray(""), "warn", "pip install"),
        (checks.kubectl(None), "ok", ""),
    ],
    ids=lambda value: f"{value.name} {value.found}" if isinstance(value, Check) else None,
)
def test_verdicts(check: Check, verdict: str, remedy: str) -> None:
    assert check.verdict == verdict
    assert remedy in check.remedy


def test_each_missing_namespace_says_why_and_the_line_that_allows_it() -> None:
    line = "user namespaces: Operation not permitted; allow them: sudo sysctl -w user.max_user_namespaces=10000"
    (found,) = checks.namespaces([line])
    assert found.verdict is Verdict.FAIL
    assert found.found == "user namespaces: Operation not permitted"
    assert found.remedy == "allow them: sudo sysctl -w user.max_user_namespaces=10000"


def test_the_exit_code_is_the_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for missing, code in (([], 0), (["user namespaces: no; allow them: x"], 1)):
        monkeypatch.setattr(checks, "_missing", lambda missing=missing: missing)
        done = run("doctor", "-o", "json", "--data-dir", str(tmp_path))
        assert done.code == code
        assert done.json()["healthy"] is (code == 0)


def test_a_machine_told_to_people(rayward: Rayward) -> None:
    def told() -> str:
        return run("doctor", "--data-dir", str(rayward.folder)).out

    # what only stands by may start a little later than `up` says that all is there
    eventually(lambda: "parts run" in told())
    assert "python" in told()
    assert "\x1b" not in told(), "no colour where nobody looks"


@pytest.mark.parametrize(
    ("phases", "verdict", "found"),
    [
        (["running", "running"], "ok", "2 parts run"),
        (["running", "starting"], "warn", "still starting: part1"),
        (["starting", "backoff"], "fail", "part1 is in backoff: it ended"),
    ],
)
def test_a_part_that_starts_has_not_failed(
    phases: list[str], verdict: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tuple(PartState(f"part{index}", 7, phase) for index, phase in enumerate(phases))
    monkeypatch.setattr(state, "current", lambda _folder: SimpleNamespace(parts=parts))
    check = checks.stack(_FOLDER)
    assert (check.verdict, check.found) == (verdict, found)


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_it_asks_for_none(no_color: str | None, coloured: bool, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    if no_color is not None:
        environment["NO_COLOR"] = no_color
    command = [sys.executable, "-m", "rayward.cli", "doctor", "--data-dir", str(tmp_path)]
    with (
        os.fdopen(ours, "rb", buffering=0) as terminal,
        subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment),
    ):
        os.close(theirs)
        said = b"".join(_said(terminal))
    assert b"python" in said
    assert (b"\x1b[" in said) is coloured


def _said(terminal: io.FileIO) -> Iterator[bytes]:
    """What a program says until it ends: then Linux answers a read with an error."""
    with contextlib.suppress(OSError):
        while said := terminal.read(1 << 16):
            yield said
