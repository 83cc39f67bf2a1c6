"""Runs one command and ends it when whoever started the guard is gone.

Used as ``python guard.py COMMAND...``: prints the command's pid, then waits until the command ends or standard input
closes. A killed test process closes its end of that pipe, so nothing it started outlives it; on Linux the command
also dies with the guard itself.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _run(command: list[str]) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, preexec_fn=_die_with_parent)
    print(child.pid, flush=True)
    ended, ending = os.pipe()
    threading.Thread(target=lambda: (child.wait(), os.close(ending)), daemon=True).start()
    select.select([sys.stdin, ended], [], [])
    child.kill()
    return child.wait()


if __name__ == "__main__":
    # The starter decides when this ends: by closing standard input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = _run(sys.argv[1:])
    sys.exit(code if code >= 0 else 128 - code)
