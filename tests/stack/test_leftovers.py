"""Parts that outlived their supervisor."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from rayward.stack import process
from rayward.stack.leftovers import end_parts
from rayward.stack.state import PartState, StackState


@contextmanager
def _part(script: str) -> Generator[tuple[subprocess.Popen[str], PartState]]:
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            assert running.stdout.readline() == "ready\n"
            yield running, PartState("part", running.pid, "running", born=process.born(running.pid))
        finally:
            running.kill()


def test_one_that_listens_is_asked() -> None:
    with _part("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done") as (running, part):
        assert end_parts(StackState(1, 0.0, parts=(part,)), 60.0)
        assert running.wait() == 7


def test_one_that_does_not_listen_is_killed() -> None:
    with _part("trap '' TERM; echo ready; while :; do sleep 0.05; done") as (running, part):
        assert end_parts(StackState(1, 0.0, parts=(part,)), 0.1)
        assert running.wait() == -9


def test_a_stranger_with_the_number_of_a_part_is_left_alone() -> None:
    with _part("echo ready; exec sleep 600") as (running, part):
        stranger = PartState("part", part.pid, "running", born="long ago")
        assert not end_parts(StackState(1, 0.0, parts=(stranger,)), 60.0)
        assert running.poll() is None


def test_nothing_left() -> None:
    assert not end_parts(None, 60.0)
    assert not end_parts(StackState(1, 0.0, parts=(PartState("part", 0, "backoff"),)), 60.0)
