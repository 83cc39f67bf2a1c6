from __future__ import annotations

import io
import os
import sys

import pytest

from rayward.changes.judging import State, Verdict
from rayward.cli.live import Live, progress
from tests.kube.terminal import Terminal


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_state_is_drawn_over_itself_and_stays_when_it_is_over() -> None:
    stream, clock = io.StringIO(), _Clock()
    live = Live("rayservice/a", stream, now=clock, columns=lambda: 60)
    live.draw()
    assert stream.getvalue() == "", "nothing is known yet"
    live.tell(Verdict(State.PROGRESSING, "ClusterNotReady", "pod a\nis starting"))
    clock.now += 12
    live.draw()
    live.tell(Verdict(State.APPLIED, "Ready"))
    live.close()
    live.close()
    clear = "\r\x1b[K"
    first = "rayservice/a: ClusterNotReady: pod a is starting"
    shown = [f"{first} (0 s)", f"{first} (12 s)", f"{first} (12 s)\n", "rayservice/a: Ready (0 s)"]
    assert stream.getvalue() == "".join(f"{clear}{line}" for line in (*shown, f"{shown[-1]}\n"))


def test_a_long_state_is_cut_so_that_it_never_wraps() -> None:
    stream = io.StringIO()
    live = Live("rayservice/a", stream, now=_Clock(), columns=lambda: 40)
    live.tell(Verdict(State.PROGRESSING, "x" * 100))
    assert len(stream.getvalue().removeprefix("\r\x1b[K")) == 39
    assert stream.getvalue().endswith("... (0 s)")


_PROGRAM = """
from rayward.changes.judging import State, Verdict
from rayward.cli.live import progress
with progress("rayservice/a") as tell:
    tell(Verdict(State.PROGRESSING, "Starting"))
    input()
print("end")
"""


def test_a_terminal_sees_the_line_drawn_again() -> None:
    with Terminal([sys.executable, "-c", _PROGRAM], dict(os.environ), 24, 80) as terminal:
        for _ in range(3):
            terminal.until("\r\x1b[Krayservice/a: Starting (")
        terminal.type("\n")
        terminal.until("end")
        assert terminal.heard.count("\n") >= 2


def test_what_is_no_terminal_gets_a_line_for_each_state(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("rayservice/a") as tell:
        tell(Verdict(State.PROGRESSING, "Starting"))
        tell(Verdict(State.APPLIED, "Ready", "all is well"))
    shown = capsys.readouterr().err
    assert shown == "rayservice/a: Starting\nrayservice/a: Ready: all is well\n"
