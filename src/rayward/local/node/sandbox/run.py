"""What a pod's init knows of one run of a container or one command in it, and how its streams flow."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rayward.local.node.sandbox import logfile
from rayward.local.node.sandbox.logfile import LogFile

READ_SIZE: Final = 64 * 1024


class Listener:
    """Somebody who is attached to a container; one that does not keep up misses what it does not read."""

    def __init__(self, stdout: int, stderr: int) -> None:
        self._outputs = {"stdout": stdout, "stderr": stderr}
        for descriptor in self._outputs.values():
            os.set_blocking(descriptor, False)

    def hear(self, stream: str, data: bytes) -> bool:
        """Take what the container wrote; returns whether anybody is still there."""
        try:
            os.write(self._outputs[stream], data)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True

    def close(self) -> None:
        """The container ended, or the listener left."""
        for descriptor in self._outputs.values():
            os.close(descriptor)


@dataclass
class Run:
    """One run of one container."""

    name: str
    attempt: int
    spec: dict[str, Any]
    log: LogFile
    report: socket.socket
    init: int = 0
    started: float = 0.0
    kills_before: int = 0
    failed: str = ""
    code: int | None = None
    streams: dict[int, str] = field(default_factory=dict[int, str])
    stdin: int | None = None
    terminal: int | None = None
    listeners: list[Listener] = field(default_factory=list[Listener])

    def take(self, stream: str, data: bytes) -> None:
        """What the container wrote."""
        self.log.write(stream, data)
        for listener in list(self.listeners):
            if not listener.hear(stream, data):
                self.listeners.remove(listener)
                listener.close()

    def note_start(self) -> None:
        """It runs; say so on disk, for the day that nobody is left to ask."""
        self.started = time.time()
        self._record("started", str(self.started).encode())

    def note_end(self, record: bytes) -> None:
        """It ended; ``record`` says how."""
        self._record("exit", record)

    def _record(self, kind: str, data: bytes) -> None:
        # On a full disk the node still hears of it now; only one that starts later does not.
        with contextlib.suppress(OSError):
            logfile.write_whole(Path(f"{self.spec['folder']}/{self.attempt}.{kind}"), data)

    def close(self) -> None:
        """Let go of what is left."""
        self.log.close()
        self.report.close()
        while self.listeners:
            self.listeners.pop().close()
        for descriptor in (self.stdin, self.terminal):
            if descriptor is not None:
                os.close(descriptor)
        self.stdin = self.terminal = None


def kills_for_memory(path: str) -> int:
    """How often the kernel killed in a control group for want of memory; 0 where nobody counts."""
    try:
        lines = Path(path).read_text().splitlines() if path else []
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def read(descriptor: int) -> bytes | None:
    """What can be read now; None if nothing is there yet, no bytes at the end."""
    try:
        return os.read(descriptor, READ_SIZE)
    except BlockingIOError:
        return None
    except OSError:
        # How a terminal tells that its last user left.
        return b""


def resize(terminal: int, rows: int, columns: int) -> None:
    """Tell a terminal its size."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
