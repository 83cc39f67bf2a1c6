"""What the supervisor says of itself and its parts."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec

from rayward.stack.folder import Folder


class PartState(msgspec.Struct, frozen=True):
    """One part as the supervisor last saw it."""

    name: str
    pid: int
    phase: str
    """starting, running, backoff or stopped."""
    restarts: int = 0
    reason: str = ""
    """Why it ended last, if it did."""


class StackState(msgspec.Struct, frozen=True):
    """The whole stack."""

    supervisor: int
    started: float
    parts: tuple[PartState, ...] = ()
    ready: bool = False
    failure: str = ""
    """Why the stack gave up, if it did."""


def write(folder: Folder, state: StackState) -> None:
    """Publish the state, whole or not at all."""
    temporary = folder.state.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.encode(state))
    temporary.replace(folder.state)


def read(folder: Folder) -> StackState | None:
    """The last published state; it may be of a supervisor that is gone."""
    try:
        return msgspec.json.decode(folder.state.read_bytes(), type=StackState)
    except (OSError, msgspec.DecodeError):
        return None


def is_running(folder: Folder) -> bool:
    """Whether a supervisor lives: it holds the lock, and the kernel lets go of it when it dies."""
    try:
        descriptor = os.open(folder.lock, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def take_lock(folder: Folder) -> int | None:
    """Become the folder's supervisor; None if there is one."""
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def tail(path: Path, lines: int) -> str:
    """The last lines of a log, for an error message."""
    with contextlib.suppress(OSError):
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    return ""
