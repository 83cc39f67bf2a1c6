"""Runs one command and ends it when whoever started the guard is gone.

Used as ``python guard.py FOLDER COMMAND...``: prints the command's pid, then waits until the command ends or standard
input says something. A byte asks for the command's end. The end of input means that the starter was killed: then the
folder goes too, so neither processes nor files outlive it. On Linux the command also dies with the guard itself.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import threading


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _run(folder: str, command: list[str]) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, preexec_fn=_die_with_parent)
    print(child.pid, flush=True)
    ended, ending = os.pipe()
    threading.Thread(target=lambda: (child.wait(), os.close(ending)), daemon=True).start()
    ready, _, _ = select.select([sys.stdin, ended], [], [])
    child.kill()
    code = child.wait()
    if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1):
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    # The starter decides when this ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = _run(sys.argv[1], sys.argv[2:])
    sys.exit(code if code >= 0 else 128 - code)
