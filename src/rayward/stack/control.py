"""Up, down and status: what the command line asks of a stack."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rayward.stack import state
from rayward.stack.errors import StackError
from rayward.stack.folder import Folder, wipe
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
        seen = state.current(folder)
        if seen is not None and seen.ready:
            with_node = any(part.name == "node" for part in seen.parts)
            if is_usable(folder, with_node=with_node):
                return Up(seen, already, time.monotonic() - began)
        if supervisor and _has_ended(supervisor):
            if not state.is_running(folder):
                raise _did_not_start(folder, state.read(folder))
            # another `up` was faster: its stack is as good as ours
            supervisor, already = 0, True
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
    ran = state.is_running(folder)
    asked: StackState | None = None
    deadline = time.monotonic() + timeout
    while state.is_running(folder):
        seen = state.current(folder)
        if seen is not None and asked is None:
            state.stop(seen)
            asked = seen
        if time.monotonic() > deadline:
            raise _did_not_stop(folder, asked, timeout)
        time.sleep(_POLL)
    if asked is not None:
        _has_ended(asked.supervisor)
    if purge:
        wipe(folder)
    else:
        # left behind only by a supervisor that was killed
        shutil.rmtree(folder.run, ignore_errors=True)
        folder.kubeconfig.unlink(missing_ok=True)
    return ran


def _did_not_stop(folder: Folder, asked: StackState | None, timeout: float) -> StackError:
    what = f"the stack did not stop within {timeout:.0f} s"
    if asked is None:
        return StackError(what, "its supervisor does not say who it is", f"fuser {folder.lock}   # shows the process")
    following = f"kill -9 {asked.supervisor}   # its parts end with it"
    return StackError(what, f"its supervisor is process {asked.supervisor}", following)


def status(folder: Folder) -> StackState | None:
    """The running stack, or None."""
    return state.current(folder)
