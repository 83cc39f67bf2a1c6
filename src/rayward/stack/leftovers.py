"""What a killed supervisor or node left behind: processes that nobody restarts any more."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from rayward.stack import process, state
from rayward.stack.errors import StackError
from rayward.stack.folder import Folder
from rayward.stack.state import StackState

_POLL = 0.02
_LAST_SECONDS = 5.0
_END_PODS = (
    "import asyncio, pathlib, sys; from rayward.local.node.sandboxes import Sandboxes; "
    "asyncio.run(Sandboxes(pathlib.Path(sys.argv[1])).end())"
)


def end_parts(seen: StackState | None, patience: float) -> bool:
    """Ask the parts in a state to end and wait until they have; who does not listen is killed.

    Returns whether there were any.

    Raises:
        StackError: One of them does not even die.
    """
    alive = found = state.alive_parts(seen.parts if seen is not None else ())
    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, _LAST_SECONDS)):
        for part in alive:
            process.send(part.pid, part.born, number)
        deadline = time.monotonic() + seconds
        while alive and time.monotonic() < deadline:
            time.sleep(_POLL)
            alive = state.alive_parts(alive)
    if alive:
        names = ", ".join(f"{part.name} ({part.pid})" for part in alive)
        raise StackError("parts of the stack do not stop", f"still running: {names}", "ps -o pid,stat,wchan,args")
    return bool(found)


def end_pods(folder: Folder) -> None:
    """End pods that outlived their node, which would find them again at its next start."""
    if (folder.node / "ground.sock").exists():
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", _END_PODS, str(folder.node)], stdin=subprocess.DEVNULL, check=False
        )
