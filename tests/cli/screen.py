"""A command on a terminal: what a person sees there, and types."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


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

    def answer(self, line: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{line}\n".encode())


@contextmanager
def on_a_terminal(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Generator[tuple[subprocess.Popen[bytes], Screen]]:
    """Run a command on a terminal of its own; it is killed when the block ends, if it still runs."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environment), cwd=folder
    ) as process:
        os.close(theirs)
        try:
            yield process, Screen(ours)
        finally:
            process.kill()
            os.close(ours)
