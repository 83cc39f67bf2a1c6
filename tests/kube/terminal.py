"""A person at a terminal: kubectl behind a pty."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

_PATIENCE = 150.0


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], rows: int, columns: int) -> None:
        self._near, far = pty.openpty()
        self._set_size(rows, columns)
        self._process = subprocess.Popen(
            command, stdin=far, stdout=far, stderr=far, env=environment, start_new_session=True
        )
        os.close(far)
        self.heard = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._near)

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._near, text.encode())

    def until(self, text: str) -> None:
        """Read until ``text`` has appeared since the last time."""
        deadline = time.monotonic() + _PATIENCE
        begin = len(self.heard)
        while text not in self.heard[begin:]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.heard[begin:]!r}"
            if select.select([self._near], [], [], 0.2)[0]:
                try:
                    self.heard += os.read(self._near, 4096).decode(errors="replace")
                except OSError:
                    # the program is gone, and with it the other side
                    assert text in self.heard[begin:], self.heard
                    return

    def resize(self, rows: int, columns: int) -> None:
        """Make the window another size."""
        self._set_size(rows, columns)
        self._process.send_signal(signal.SIGWINCH)

    def code(self) -> int:
        """The program's exit code."""
        while self._process.poll() is None:
            if select.select([self._near], [], [], 0.2)[0]:
                try:
                    self.heard += os.read(self._near, 4096).decode(errors="replace")
                except OSError:
                    break
        return self._process.wait(_PATIENCE)

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
