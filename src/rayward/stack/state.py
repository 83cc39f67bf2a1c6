"""What the supervisor says of itself and its parts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rayward.stack import process
from rayward.stack.folder import Folder
from rayward.stack.settings import Settings

_LOCK_SECONDS = 0.5
_TAIL_BYTES = 64 * 1024


class PartState(msgspec.Struct, frozen=True):
    """One part as the supervisor last saw it."""

    name: str
    pid: int
    phase: str
    """starting, running, backoff, or failing: it ended again and again and never ran well."""
    restarts: int = 0
    reason: str = ""
    """Why it ended last, if it did."""
    words: str = ""
    """The last line of its log when it ended."""
    ended: float = 0.0
    """When it ended last."""
    born: str = ""
    """What tells its process from a later one of the same number."""


class StackState(msgspec.Struct, frozen=True):
    supervisor: int
    started: float
    born: str = ""
    """What tells the supervisor from a later process of the same number, where the system does."""
    parts: tuple[PartState, ...] = ()
    ready: bool = False
    failure: str = ""
    """Why the stack gave up, if it did."""
    settings: Settings | None = None
    """What it was started with."""


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


def current(folder: Folder) -> StackState | None:
    """The state of the supervisor that lives now; None if there is none, or it has said nothing yet."""
    seen = read(folder)
    return seen if seen is not None and is_running(folder) and process.born(seen.supervisor) == seen.born else None


def alive_parts(parts: Sequence[PartState]) -> tuple[PartState, ...]:
    """Those of them that run."""
    return tuple(part for part in parts if part.pid and process.is_alive(part.pid, part.born))


def unsupervised(folder: Folder) -> StackState | None:
    """What a killed supervisor left running: its last state with no other parts; None where nothing is."""
    seen = read(folder)
    if seen is None or is_running(folder):
        return None
    parts = alive_parts(seen.parts)
    return replace(seen, parts=parts) if parts else None


def is_running(folder: Folder) -> bool:
    """Whether a supervisor lives: it holds the lock, and the kernel lets go of it when it dies."""
    try:
        descriptor = os.open(folder.lock, os.O_RDWR)
    except OSError:
        return False
    try:
        # shared: two who ask at once must not take each other for a supervisor
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def take_lock(folder: Folder) -> int | None:
    """Become the folder's supervisor; None if there is one."""
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # who only asks holds it for a moment
            if time.monotonic() > deadline:
                os.close(descriptor)
                return None
            time.sleep(0.005)
        else:
            return descriptor


def tail(path: Path, lines: int) -> str:
    """The last lines of a log that say anything."""
    with contextlib.suppress(OSError), path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        said = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        return "\n".join(said[-lines:])
    return ""
