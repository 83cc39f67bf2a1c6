"""When a part is started again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rayward.stack.folder import Folder
from rayward.stack.part import Part
from rayward.stack.state import StackState, read
from rayward.stack.supervisor import Supervisor, ending, held_back, next_pause


@pytest.mark.parametrize(
    ("previous", "lived", "pause"), [(0.0, 1, 0.25), (0.25, 1, 0.5), (8.0, 1, 10.0), (10.0, 59, 10.0), (10.0, 60, 0.0)]
)
def test_the_pause_grows_until_a_part_runs_well(previous: float, lived: float, pause: float) -> None:
    assert next_pause(previous, lived) == pause


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exited with code 0"), (3, "exited with code 3"), (-9, "was killed by SIGKILL")]
)
def test_an_end_in_words(code: int, words: str) -> None:
    assert ending(code) == words


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@asynccontextmanager
async def _supervised(folder: Folder, *parts: Part) -> AsyncGenerator[Supervisor]:
    supervisor = Supervisor(folder, parts)
    running = asyncio.create_task(supervisor.run())
    try:
        yield supervisor
    finally:
        supervisor.request_stop()
        await running


async def _until(folder: Folder, holds: Callable[[StackState], bool]) -> StackState:
    deadline = time.monotonic() + 60
    while (seen := read(folder)) is None or not holds(seen):
        assert time.monotonic() < deadline, seen
        await asyncio.sleep(0.02)
    return seen


def _server(folder: Folder) -> Part:
    return Part("server", ("sh", "-c", "touch kubeconfig; exec sleep 600"), folder.kubeconfig)


def _shell(name: str, script: str, *, essential: bool = True) -> Part:
    return Part(name, ("sh", "-c", script), essential=essential)


@pytest.mark.anyio
async def test_the_others_start_once_the_first_serves(folder: Folder) -> None:
    other = _shell("other", "test -e kubeconfig || exit 1; exec sleep 600")
    async with _supervised(folder, _server(folder), other):
        seen = await _until(folder, lambda seen: seen.ready)
        assert [(part.name, part.phase, part.restarts) for part in seen.parts] == [
            ("server", "running", 0),
            ("other", "running", 0),
        ]


@pytest.mark.anyio
async def test_a_stack_whose_essential_part_never_runs_gives_up_and_says_why(folder: Folder) -> None:
    bad = Part("bad", ("sh", "-c", "echo no luck; exit 3"), folder.root / "never")
    supervisor = Supervisor(folder, (_server(folder), bad))
    assert await supervisor.run() == 1
    seen = read(folder)
    assert seen is not None
    assert seen.failure == "bad exited with code 3; its log ends with:\nno luck\nno luck\nno luck"


@pytest.mark.anyio
async def test_a_stack_does_without_a_part_that_is_not_essential(folder: Folder) -> None:
    weak = Part("weak", ("sh", "-c", "echo no luck; exit 3"), folder.root / "never", essential=False)
    async with _supervised(folder, _server(folder), weak):
        seen = await _until(folder, lambda seen: seen.ready)
        assert [(part.phase, part.words) for part in seen.parts] == [("running", ""), ("failing", "no luck")]


@pytest.mark.anyio
async def test_a_part_that_falls_is_started_again_with_its_last_words_kept(folder: Folder) -> None:
    script = "test -e fell && exec sleep 600; touch fell; echo farewell; exit 4"
    async with _supervised(folder, _server(folder), _shell("other", script)):
        seen = await _until(folder, lambda seen: seen.parts[1].restarts == 1 and seen.ready)
    part = seen.parts[1]
    assert (part.reason, part.words) == ("exited with code 4", "farewell")


@pytest.mark.anyio
async def test_a_part_that_is_spare_starts_when_the_others_run_and_is_not_waited_for(folder: Folder) -> None:
    slow = Part(
        "slow", ("sh", "-c", "until test -e go; do sleep 0.02; done; touch slow; exec sleep 600"), folder.root / "slow"
    )
    spare = Part(
        "spare", ("sh", "-c", "test -e slow || touch early; exec sleep 600"), folder.root / "never", spare=True
    )
    async with _supervised(folder, _server(folder), slow, spare):
        await _until(folder, lambda seen: seen.parts[1].pid > 0)
        (folder.root / "go").touch()
        await _until(folder, lambda seen: seen.ready and seen.parts[2].pid > 0)
    assert not (folder.root / "early").exists()


def test_a_part_starts_when_it_is_told_to() -> None:
    command = held_back((sys.executable, "-c", "import sys; print('runs', sys.stdin.read())"))
    assert subprocess.run(command, input=b".", capture_output=True, check=True).stdout == b"runs \n"


def test_a_part_whose_supervisor_died_before_it_was_recorded_does_not_start() -> None:
    command = held_back((sys.executable, "-c", "print('runs')"))
    assert subprocess.run(command, input=b"", capture_output=True, check=True).stdout == b""
