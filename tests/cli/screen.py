"""What a person at a terminal sees."""

from __future__ import annotations

import os


class Screen:
    """What a terminal shows; the test's own time limit ends a wait in vain."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unread = b""

    def until(self, text: bytes) -> None:
        """Read on until it says something."""
        while text not in self._unread:
            self._unread += os.read(self._terminal, 4096)
        self._unread = self._unread.partition(text)[2]
