"""A process that somebody else started, told from a later one of the same number."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

_GONE = "ZX"


def born(pid: int) -> str:
    """When a living process started, in the kernel's own count; empty where it is over or the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in _GONE else fields[19]
    except (OSError, IndexError):
        return ""


def is_alive(pid: int, when: str) -> bool:
    """Whether the process that was born then still runs."""
    if sys.platform == "linux":
        return bool(when) and born(pid) == when
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def send(pid: int, when: str, number: signal.Signals) -> None:
    """Signal the process that was born then, and no other that has its number by now."""
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, number)
        return
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # asked only now: the number belongs to whom the descriptor stands for, or to nobody
        if born(pid) == when:
            signal.pidfd_send_signal(process, number)
    except ProcessLookupError:
        return
    finally:
        os.close(process)
