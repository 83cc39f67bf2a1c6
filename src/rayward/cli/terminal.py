"""The user's terminal while a program elsewhere is at its other end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import threading
import tty
from collections.abc import Generator

import orjson

_READ = 32 * 1024
_INPUT = 0


def is_terminal() -> bool:
    """Whether a person types."""
    return os.isatty(_INPUT)


@contextlib.contextmanager
def raw() -> Generator[None]:
    """Hand on every key as it is typed; the terminal is as before afterwards."""
    before = termios.tcgetattr(_INPUT)
    tty.setraw(_INPUT)
    try:
        yield
    finally:
        termios.tcsetattr(_INPUT, termios.TCSADRAIN, before)


def size() -> bytes:
    """The size of the terminal, as the resize channel tells it."""
    columns, lines = os.get_terminal_size(_INPUT)
    return orjson.dumps({"Width": columns, "Height": lines})


def resizes() -> asyncio.Queue[bytes]:
    """The size now, and whenever it changes."""
    changes: asyncio.Queue[bytes] = asyncio.Queue()
    changes.put_nowait(size())
    asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, lambda: changes.put_nowait(size()))
    return changes


def typed() -> asyncio.Queue[bytes]:
    """What comes on stdin, whatever stdin is; nothing at its end."""
    parts: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        # a thread: files and terminals of another session cannot be polled
        while True:
            try:
                part = os.read(_INPUT, _READ)
            except OSError:
                part = b""
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(parts.put_nowait, part)
            if not part:
                return

    threading.Thread(target=read, daemon=True).start()
    return parts


def write(data: bytes, *, err: bool = False) -> None:
    """Show what the program says, at once."""
    stream = sys.stderr.buffer if err else sys.stdout.buffer
    stream.write(data)
    stream.flush()
