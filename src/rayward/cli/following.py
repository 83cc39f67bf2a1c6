"""Following a RayJob from a terminal: its log on stdout, what it waits for on stderr, and how to leave."""

from __future__ import annotations

import os
import sys
import time

import click

from rayward.changes.outcomes import JobFailed
from rayward.changes.refs import Ref
from rayward.cli import terminal
from rayward.cli.failure import Code
from rayward.cli.output import tell
from rayward.cli.target import Target
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.sdk import Client

_SECOND_THOUGHTS = 3.0
_BLINK = 0.05


def follow(client: Client, ref: Ref, target: Target) -> int:
    """Show a job until it has ended; Ctrl-C leaves it running, a second one asks whether to stop it.

    Raises:
        JobFailed: It failed or was stopped.
    """
    try:
        ended = client.follow(ref, write, tell)
    except KeyboardInterrupt:
        return _leave(client, ref, target)
    except JobFailed as failed:
        where = target.words
        failed.following = f"rayward logs {ref}{where}   # or again: rayward rerun {ref.name}{where}"
        raise
    tell(f"{ref} succeeded{_took(ended.object)}")
    return 0


def how_to_return(ref: Ref, target: Target) -> str:
    """What to run later."""
    where = target.words
    return f"follow it: rayward logs {ref} -f{where}   # stop it: rayward stop {ref.name}{where}"


def _leave(client: Client, ref: Ref, target: Target) -> int:
    try:
        tell(f"\n{ref} is still running; {how_to_return(ref, target)}")
        if not terminal.is_terminal():
            return Code.INTERRUPTED
        tell("press Ctrl-C once more to stop it")
        until = time.monotonic() + _seconds()
        # Python hears of a signal that came just before a sleep when the sleep has ended: many short ones.
        while time.monotonic() < until:
            time.sleep(_BLINK)
    except KeyboardInterrupt:
        if click.confirm(f"\nStop {ref}?", default=False, err=True):
            client.stop(ref)
            tell(f"{ref} was stopped")
    return Code.INTERRUPTED


def _seconds() -> float:
    try:
        return max(float(os.environ.get("RAYWARD_INTERRUPT_SECONDS") or _SECOND_THOUGHTS), 0)
    except ValueError:
        return _SECOND_THOUGHTS


def write(part: bytes) -> None:
    """Show a part of a log at once."""
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def _took(job: Object) -> str:
    from rayward.changes.jobsummary import summary

    seconds = summary(job, time.time()).seconds
    return f" after {seconds:.0f} s" if seconds is not None else ""


def name_of(job: Object) -> str:
    """The name of a RayJob that was just made."""
    return str(section(job, "metadata")["name"])
