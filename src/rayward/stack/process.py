"""A process that somebody else started, told from a later one of the same number."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

_GONE = "ZX"
_POLL = 0.05


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


class Adopted:
    """A process that an earlier supervisor started; as far as needed it is used like one of asyncio's own."""

    def __init__(self, pid: int, when: str) -> None:
        self.pid = pid
        self._born = when
        self._ended = False

    @property
    def returncode(self) -> int | None:
        """None as long as it runs; its code is told only to the process that started it."""
        self._ended = self._ended or not is_alive(self.pid, self._born)
        return 0 if self._ended else None

    def terminate(self) -> None:
        """Ask it to end."""
        send(self.pid, self._born, signal.SIGTERM)

    def kill(self) -> None:
        send(self.pid, self._born, signal.SIGKILL)

    async def wait(self) -> int:
        """Return once it has ended."""
        while self.returncode is None:  # noqa: ASYNC110 - the kernel tells this only to the one that started it
            await asyncio.sleep(_POLL)
        return 0
