"""Up, down and status: what the command line asks of a stack."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rayward.stack import state
from rayward.stack.errors import StackError
from rayward.stack.folder import Folder
from rayward.stack.state import StackState
from rayward.stack.usable import is_usable

_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Up:
    """A running stack."""

    state: StackState
    already: bool
    seconds: float


def up(
    folder: Folder,
    *,
    port: int = 0,
    node: Sequence[str] | None = None,
    timeout: float = 60.0,
    tell: Callable[[str], None],
) -> Up:
    """Start the stack, or find the one that runs; ``node`` holds the node's own flags, None leaves it out."""
    began = time.monotonic()
    folder.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    already = state.is_running(folder)
    supervisor = 0
    if not already:
        what = "the API server and controllers" if node is None else "the API server, controllers and node"
        tell(f"starting {what} in {folder.root}")
        supervisor = _spawn(folder, port, node)
    while True:
        seen = state.read(folder)
        if seen is not None and seen.ready and state.is_running(folder):
            with_node = any(part.name == "node" for part in seen.parts)
            if is_usable(folder, with_node=with_node):
                return Up(seen, already, time.monotonic() - began)
        if supervisor and _has_ended(supervisor):
            raise _did_not_start(folder, seen)
        if time.monotonic() - began > timeout:
            raise StackError(
                f"the stack was not ready after {timeout:.0f} s",
                state.tail(folder.logs / "apiserver.log", 3) or "its logs are empty",
                f"rayward status --data-dir {folder.root}   # or read {folder.logs}",
            )
        time.sleep(_POLL)


def _spawn(folder: Folder, port: int, node: Sequence[str] | None) -> int:
    """Start a supervisor that outlives us; its own session, nothing of our terminal."""
    folder.logs.mkdir(mode=0o700, exist_ok=True)
    log = str(folder.logs / "supervisor.log")
    command = [sys.executable, "-m", "rayward.stack.supervisor"]
    command += ["--data-dir", str(folder.root.resolve()), "--port", str(port)]
    command += ["--api-only"] if node is None else ["--", *node]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, append, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=files, setsid=True)


def _has_ended(pid: int) -> bool:
    """Whether a supervisor that we started is over; one of somebody else's is not ours to ask."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _did_not_start(folder: Folder, seen: StackState | None) -> StackError:
    why = seen.failure if seen is not None and seen.failure else state.tail(folder.logs / "supervisor.log", 3)
    return StackError("the stack did not start", why or "it ended without a word", f"read the logs in {folder.logs}")


def down(folder: Folder, *, purge: bool, timeout: float = 30.0) -> bool:
    """Stop the stack; with ``purge`` its data goes too. Returns whether anything ran."""
    seen = state.read(folder)
    ran = state.is_running(folder)
    if ran and seen is not None:
        os.kill(seen.supervisor, signal.SIGTERM)
        deadline = time.monotonic() + timeout
        while state.is_running(folder):
            if time.monotonic() > deadline:
                raise StackError(
                    f"the stack did not stop within {timeout:.0f} s",
                    f"its supervisor is process {seen.supervisor}",
                    f"kill -9 {seen.supervisor}   # its parts end with it",
                )
            time.sleep(_POLL)
        _has_ended(seen.supervisor)
    if purge:
        shutil.rmtree(folder.root, ignore_errors=True)
    else:
        # left behind only by a supervisor that was killed
        shutil.rmtree(folder.run, ignore_errors=True)
        folder.kubeconfig.unlink(missing_ok=True)
    return ran


def status(folder: Folder) -> StackState | None:
    """The running stack, or None."""
    return state.read(folder) if state.is_running(folder) else None
