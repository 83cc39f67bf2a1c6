"""Up, down and status: what the command line asks of a stack."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rayward.stack import leftovers, monitoring, process, state
from rayward.stack.errors import StackError
from rayward.stack.folder import Folder, wipe
from rayward.stack.state import PartState, StackState
from rayward.stack.usable import look

_POLL = 0.02
_PART_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Up:
    state: StackState
    already: bool
    """Whether it ran before, with a supervisor or without."""
    seconds: float
    trouble: str = ""
    """Why no pod can run here; empty where they can, or where no node was wanted."""

    @property
    def failing(self) -> tuple[PartState, ...]:
        """Parts that do not stay up; the others do without."""
        return tuple(part for part in self.state.parts if part.phase == "failing")


def up(
    folder: Folder,
    *,
    port: int = 0,
    node: Sequence[str] | None = None,
    operator: bool = False,
    foreground: bool = False,
    timeout: float = 180.0,
    tell: Callable[[str], None],
) -> Up:
    """Start the stack, or find the one that runs; one whose supervisor was killed gets another and goes on.

    Args:
        folder: Where everything of it lies.
        port: Port of the API server; 0 takes the last one, or a free one.
        node: Flags of the node; None leaves out what runs pods.
        operator: Whether Ray's kinds are defined and made true.
        foreground: Whether the stack ends with this process.
        timeout: How long it may take.
        tell: Hears of every step.

    Raises:
        StackError: It did not start.
    """
    began = time.monotonic()
    folder.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    already = state.is_running(folder)
    supervisor = 0
    adopted = state.unsupervised(folder)
    if not already:
        supervisor = _spawn(folder, port, node, operator=operator, foreground=foreground)
    try:
        if supervisor:
            text = f"adopting the parts that run in {folder.root}: their supervisor was killed"
            tell(text if adopted is not None else f"starting in {folder.root}")
        return _follow(folder, supervisor, began, timeout, tell, already=already, adopted=adopted is not None)
    except KeyboardInterrupt:
        # It may not have its lock yet.
        goes_on = state.is_running(folder) or (supervisor and not _has_ended(supervisor))
        if goes_on and not foreground:
            tell("interrupted: the start goes on in the background")
            tell("  next: rayward status   # shows how far it is; rayward down ends it")
        raise


def _follow(
    folder: Folder,
    supervisor: int,
    began: float,
    timeout: float,
    tell: Callable[[str], None],
    *,
    already: bool,
    adopted: bool,
) -> Up:
    """Tell of each part that gets ready, until all are; ``supervisor`` is the process that was started for it."""
    told: set[str] = set()
    while True:
        seen = state.current(folder)
        if seen is not None and not already:
            for part in seen.parts:
                if part.phase == "running" and part.name not in told:
                    told.add(part.name)
                    tell(f"  {part.name:<13} ready after {time.monotonic() - began:.1f} s")
        if seen is not None and seen.ready:
            usable = look(folder, with_node=any(part.name == "node" for part in seen.parts))
            if usable is not None:
                monitoring.write(folder)
                return Up(seen, already or adopted, time.monotonic() - began, usable.trouble)
        if supervisor and _has_ended(supervisor):
            if not state.is_running(folder):
                raise _did_not_start(folder, state.read(folder))
            # another `up` was faster: its stack is as good as ours
            supervisor, already = 0, True
        if time.monotonic() - began > timeout:
            raise _not_ready(folder, seen, timeout)
        time.sleep(_POLL)


def _spawn(folder: Folder, port: int, node: Sequence[str] | None, *, operator: bool, foreground: bool) -> int:
    """Start a supervisor in its own session, with nothing of our terminal."""
    folder.logs.mkdir(mode=0o700, exist_ok=True)
    log = str(folder.logs / "supervisor.log")
    command = [sys.executable, "-m", "rayward.stack.supervisor"]
    command += ["--data-dir", str(folder.root.resolve()), "--port", str(port)]
    command += ["--keeper", str(os.getpid())] if foreground else []
    command += ["--operator"] if operator else []
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
    return StackError(
        "the stack did not start", why or "it ended and its log is empty", f"read the logs in {folder.logs}"
    )


def _not_ready(folder: Folder, seen: StackState | None, timeout: float) -> StackError:
    parts = seen.parts if seen is not None else ()
    # one that was not started yet waits for another itself
    waiting = [part.name for part in parts if part.phase != "running" and (part.pid or part.phase != "starting")]
    name = waiting[0] if waiting else "supervisor"
    words = state.tail(folder.logs / f"{name}.log", 3) or "its log is empty"
    return StackError(
        f"the stack was not ready after {timeout:.0f} s",
        f"still waiting for: {', '.join(waiting) or 'the supervisor'}\n{words}",
        f"rayward status --data-dir {folder.root}   # or read {folder.logs}",
    )


def down(
    folder: Folder, *, purge: bool, timeout: float = 60.0, tell: Callable[[str], None] = lambda _text: None
) -> bool:
    """Stop the stack and wait until nothing of it runs; with ``purge`` its data goes too.

    ``tell`` hears what becomes of the stop where it is interrupted.

    Returns whether anything ran.

    Raises:
        StackError: It did not stop.
    """
    ran = state.is_running(folder)
    asked: StackState | None = None
    deadline = time.monotonic() + timeout
    try:
        while state.is_running(folder):
            seen = state.current(folder)
            if seen is not None and asked is None:
                asked = seen
                process.send(seen.supervisor, seen.born, signal.SIGTERM)
            if time.monotonic() > deadline:
                raise _did_not_stop(folder, asked, timeout)
            time.sleep(_POLL)
    except KeyboardInterrupt:
        if asked is not None:
            tell("interrupted: the stop goes on in the background" + (", and nothing is deleted" if purge else ""))
        raise
    if asked is not None:
        _has_ended(asked.supervisor)
    # there only if a supervisor, or a node, was killed
    ran = leftovers.end_parts(state.read(folder), _PART_SECONDS) or ran
    leftovers.end_pods(folder)
    if purge:
        wipe(folder)
    else:
        shutil.rmtree(folder.run, ignore_errors=True)
        folder.kubeconfig.unlink(missing_ok=True)
    return ran


def _did_not_stop(folder: Folder, asked: StackState | None, timeout: float) -> StackError:
    what = f"the stack did not stop within {timeout:.0f} s"
    if asked is None:
        return StackError(
            what, "the process of its supervisor is unknown", f"fuser {folder.lock}   # shows the process"
        )
    following = f"kill -9 {asked.supervisor}; rayward down --data-dir {folder.root}"
    return StackError(what, f"its supervisor is process {asked.supervisor}", following)


def status(folder: Folder) -> StackState | None:
    """The running stack, or None."""
    return state.current(folder)
