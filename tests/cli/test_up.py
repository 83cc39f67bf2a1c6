"""``rayward up``: in the foreground, on a machine that refuses pods, with an operator that does not start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rayward.cli import up
from rayward.stack import control, settings
from rayward.stack.folder import Folder
from rayward.stack.settings import Settings
from rayward.stack.state import PartState, StackState
from tests.cli.rayward import run


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "data")
    yield folder
    control.down(folder, purge=True)


def _processes(folder: Folder) -> list[str]:
    listed = subprocess.run(["ps", "-ewwo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder.root) in line]


@contextmanager
def _foreground(folder: Folder) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "rayward.cli", "up", "--api-only", "--foreground", "--data-dir", str(folder.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def test_the_foreground_shows_what_parts_say_and_ctrl_c_ends_everything(folder: Folder) -> None:
    with _foreground(folder) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == f"export KUBECONFIG={folder.kubeconfig}\n"
        seen = control.status(folder)
        assert seen is not None
        os.kill(seen.parts[1].pid, signal.SIGKILL)
        said = next(line for line in running.stdout if "controllers was killed by SIGKILL" in line)
        assert said.startswith("supervisor  ")
        running.send_signal(signal.SIGINT)
        assert "stopped" in running.stderr.read()
        assert running.wait(60) == 0
    assert _processes(folder) == []


def test_a_killed_foreground_takes_everything_along(folder: Folder) -> None:
    with _foreground(folder) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.kill()
    control.down(folder, purge=False)
    assert _processes(folder) == []


def test_what_a_part_says_before_the_answer_is_written_is_shown(
    monkeypatch: pytest.MonkeyPatch, folder: Folder
) -> None:
    folder.logs.mkdir(parents=True)
    log = folder.logs / "controllers.log"
    log.write_text("said in a former life\n")

    def up(*_args: object, **_options: object) -> control.Up:
        with log.open("a") as stream:
            stream.write("said meanwhile\n")
        return control.Up(StackState(1, 0.0, ready=True), False, 1.0, "")

    monkeypatch.setattr(control, "up", up)
    done = run("up", "--api-only", "--foreground", "--data-dir", str(folder.root))
    assert done.out.splitlines()[1:] == ["controllers  said meanwhile"]


def _up(monkeypatch: pytest.MonkeyPatch, part: PartState, trouble: str = "") -> None:
    seen = StackState(1, 0.0, parts=(part,), ready=True)
    monkeypatch.setattr(control, "up", lambda *_args, **_options: control.Up(seen, False, 1.0, trouble))


def test_what_pods_lack_is_said_with_the_line_that_mends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trouble = "user namespaces: Operation not permitted; allow them: sudo sysctl -w user.max_user_namespaces=10000"
    _up(monkeypatch, PartState("node", 1, "running"), trouble)
    done = run("up", "--data-dir", str(tmp_path))
    assert done.code == 0
    assert "warning: pods stay Pending" in done.err
    assert "  why: user namespaces: Operation not permitted\n" in done.err
    assert "  next: allow them: sudo sysctl -w user.max_user_namespaces=10000\n" in done.err


def test_a_part_that_does_not_stay_up_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _up(monkeypatch, PartState("operator", 0, "failing", 3, "exited with code 10"))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "operator.log").write_text("error: KubeRay is alive\n")
    done = run("up", "--data-dir", str(tmp_path))
    assert done.code == 0
    assert (
        "warning: the operator does not stay up: it exited with code 10\n  why: error: KubeRay is alive\n" in done.err
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--cpus", "many"], "rayward up --cpus 4"),
        (["--memory", "16 G"], "rayward up --memory 16Gi"),
        (["--image", "ray"], "--image rayproject/ray=.venv"),
        (["--image", "ray=/no/such/place"], "--image rayproject/ray=.venv"),
    ],
    ids=["cpus", "memory", "no environment", "no folder"],
)
def test_flags_that_cannot_work_are_refused_before_anything_starts(flags: list[str], said: str, tmp_path: Path) -> None:
    done = run("up", *flags, "--data-dir", str(tmp_path / "data"))
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "data").exists()


def test_up_again_keeps_what_runs_and_says_which_flags_it_cannot_obey(folder: Folder) -> None:
    at = ("--data-dir", str(folder.root))
    assert run("up", "--api-only", *at).code == 0
    for same in ([], ["--api-only"], ["--port", (folder.root / "port").read_text()]):
        again = run("up", *same, *at)
        assert (again.code, "already running" in again.err) == (0, True), again.err
    told = run("up", "--nodes", "3", "--image", f"foo/bar={sys.prefix}", *at)
    assert (told.code, told.out) == (5, "")
    assert f"error: the stack is already running, but not with --nodes 3 --image foo/bar={sys.prefix}\n" in told.err
    assert "  why: --nodes 3: started with --api-only\n" in told.err
    assert (
        f"  next: rayward down {' '.join(at)} && rayward up --nodes 3 --image foo/bar={sys.prefix} {' '.join(at)}\n"
        in (told.err)
    )
    assert control.status(folder) is not None


def test_flags_that_are_not_in_force_are_told_to_programs_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "port").write_text("6443")
    settings = Settings(node=("--nodes", "2", "--gpus", "0"), operator=True)
    seen = StackState(1, 0.0, ready=True, settings=settings)
    monkeypatch.setattr(control, "up", lambda *_args, **_options: control.Up(seen, True, 1.0, ""))
    done = run("up", "--gpus", "1", "--nodes", "2", "-o", "json", "--data-dir", str(tmp_path))
    failure = json.loads(done.err)
    assert (done.code, failure["reason"]) == (5, "Conflict")
    assert failure["message"] == "the stack is already running, but not with --gpus 1"
    assert failure["why"] == "--gpus 1: started with --gpus 0"


def _started(monkeypatch: pytest.MonkeyPatch, folder: Folder, *flags: str) -> tuple[tuple[str, ...] | None, bool]:
    """The flags of the node that a start with these flags has, and whether the operator runs."""
    seen: list[tuple[tuple[str, ...] | None, bool]] = []

    def up(_folder: Folder, *, node: list[str] | None, operator: bool, **_options: object) -> control.Up:
        seen.append((None if node is None else tuple(node), operator))
        return control.Up(StackState(1, 0.0, ready=True), False, 1.0, "")

    monkeypatch.setattr(control, "up", up)
    done = run("up", *flags, "--data-dir", str(folder.root))
    assert done.code == 0, done.err
    return seen[0]


def _last(folder: Folder, *node: str, operator: bool = True) -> None:
    settings.write(folder.settings, Settings(node, operator))


def test_the_flags_of_the_last_time_are_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "env" / "bin").mkdir(parents=True)
    size = ("--nodes", "3", "--gpus", "2", "--cpus", "8", "--memory", "16Gi")
    flags = (*size, "--image", f"ray={tmp_path / 'env'}", "--images", "strict", "--project", str(tmp_path))
    _last(folder, *flags, operator=False)

    node, operator = _started(monkeypatch, folder)

    assert node is not None
    assert settings.paired(node) == settings.paired(flags)
    assert not operator


def test_a_flag_that_is_written_counts_more_than_the_last_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _last(Folder(tmp_path), "--nodes", "3", "--gpus", "2", "--cpus", "8", "--images", "strict", operator=False)

    node, operator = _started(
        monkeypatch, Folder(tmp_path), "--nodes", "1", "--cpus", "2", "--images", "any", "--operator", "rayward"
    )

    assert node is not None
    assert settings.paired(node) == {"--nodes": ("1",), "--gpus": ("2",), "--cpus": ("2",)}
    assert operator


def test_folders_that_are_gone_are_not_asked_for_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    _last(Folder(tmp_path), "--nodes", "1", "--gpus", "0", "--image", f"old={gone}", "--project", str(gone))
    assert _started(monkeypatch, Folder(tmp_path)) == (("--nodes", "1", "--gpus", "0"), True)


def test_a_new_folder_has_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _started(monkeypatch, Folder(tmp_path / "new")) == (("--nodes", "1", "--gpus", "0"), True)


def test_a_start_without_pods_forgets_nothing(folder: Folder) -> None:
    folder.root.mkdir()
    _last(folder, "--nodes", "3", "--gpus", "2")
    before = folder.settings.read_bytes()
    assert run("up", "--api-only", "--data-dir", str(folder.root)).code == 0
    assert folder.settings.read_bytes() == before


@pytest.mark.parametrize(("running", "code"), [((), 0), (("--images", "strict"), 5)], ids=["any", "strict"])
def test_images_any_is_told_from_strict(
    running: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "port").write_text("6443")
    seen = StackState(1, 0.0, ready=True, settings=Settings(("--nodes", "1", "--gpus", "0", *running), operator=True))
    monkeypatch.setattr(control, "up", lambda *_args, **_options: control.Up(seen, True, 1.0, ""))
    assert run("up", "--images", "any", "--data-dir", str(tmp_path)).code == code


def test_the_project_is_named_by_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "real" / "code").mkdir(parents=True)
    (tmp_path / "linked").symlink_to("real")
    for spelled in ("linked", "real/code/..", "linked/code/.."):
        assert up._node_flags(None, None, (), str(tmp_path / spelled)) == ["--project", str(tmp_path / "real")]
