from __future__ import annotations

import time
from typing import NoReturn

import click
import pytest

from rayward.changes.refs import Ref
from rayward.cli import following, terminal
from rayward.cli.target import Target
from rayward.sdk import Client


def test_a_second_interrupt_just_before_the_wait_is_heard_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python hears of a signal when a sleep has ended that had not quite begun when it came."""
    slept: list[float] = []

    def sleep(seconds: float) -> NoReturn:
        slept.append(seconds)
        raise KeyboardInterrupt

    class _Nowhere(Client):
        def __init__(self) -> None:
            """Connects to nothing."""

    def interrupted(*arguments: object) -> NoReturn:
        raise KeyboardInterrupt

    client = _Nowhere()
    monkeypatch.setattr(client, "follow", interrupted)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda *words, **options: False)
    monkeypatch.setenv("RAYWARD_INTERRUPT_SECONDS", "120")
    assert following.follow(client, Ref("RayJob", "long", "default"), Target()) == 130
    assert "rayjob/long is still running" in capsys.readouterr().err
    (seconds,) = slept
    assert seconds < 1
