"""A program that runs beside a block, and must live as long."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.contract.target import ended

_ROOT: Final = Path(__file__).parents[1]


@contextmanager
def beside(command: Sequence[str], log: Path) -> Generator[subprocess.Popen[bytes]]:
    """Run ``command`` for the length of a block.

    Raises:
        RuntimeError: It ended by itself; the text is the end of its log.
    """
    with log.open("ab") as stream:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, cwd=_ROOT)
    try:
        yield process
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended:\n{log.read_text()[-3000:]}")
    finally:
        ended(process)
