"""Processes of others: told apart by when they were born."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rayward.stack import process
from tests.waiting import eventually


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


def test_a_stranger_with_the_number_is_not_asked_to_end(stranger: subprocess.Popen[bytes]) -> None:
    process.send(stranger.pid, "long ago", signal.SIGTERM)
    assert stranger.stdin is not None
    stranger.stdin.close()
    assert stranger.wait() == 1


def test_the_supervisor_itself_is_asked_to_end(stranger: subprocess.Popen[bytes]) -> None:
    process.send(stranger.pid, process.born(stranger.pid), signal.SIGTERM)
    assert stranger.wait() == -15


def test_who_is_over_is_not_alive_even_before_anybody_heard_of_it(stranger: subprocess.Popen[bytes]) -> None:
    when = process.born(stranger.pid)
    assert process.is_alive(stranger.pid, when)
    assert not process.is_alive(stranger.pid, "long ago")
    stranger.kill()
    eventually(lambda: not process.is_alive(stranger.pid, when))
