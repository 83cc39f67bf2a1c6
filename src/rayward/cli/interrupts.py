"""Ctrl-C from the first moment to the last: while modules load and after the answer nothing can be half-done.

A KeyboardInterrupt in the midst of an import is a traceback of whatever was being loaded, and some extension modules do
not survive it. This module is what the command line loads first, and loads nothing itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

_INTERRUPTED: Final = 130


@contextmanager
def loading() -> Generator[None]:
    """Within it, Ctrl-C ends the process at once: nothing was asked of anybody yet."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        # somebody else has a say, such as a shell that runs it in the background
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def answered(code: int) -> None:
    """The command has ended: Ctrl-C changes nothing of that, and would only hit the interpreter's own end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(code))


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)
