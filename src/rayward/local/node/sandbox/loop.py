"""A small event loop: descriptors with handlers, children that end, and a clock."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

_PAUSE: Final = 0.05


class Loop:
    """Calls handlers when their descriptors can be read, and ``ended`` for children."""

    def __init__(self, ended: Callable[[int, int], None]) -> None:
        self._selector = selectors.DefaultSelector()
        self._ended = ended
        self._ticks: tuple[float, Callable[[], None]] | None = None
        self._due = 0.0
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        signal.signal(signal.SIGCHLD, _noted)
        signal.set_wakeup_fd(self._wake_out.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._wake_in, selectors.EVENT_READ, self._reap)

    def watch(self, source: Any, handler: Callable[[], None]) -> None:
        """Call ``handler`` whenever ``source`` can be read."""
        self._selector.register(source, selectors.EVENT_READ, handler)

    def forget(self, source: Any) -> None:
        self._selector.unregister(source)

    def tick(self, seconds: float, handler: Callable[[], None]) -> None:
        """Call ``handler`` every so many seconds; the last one given counts."""
        if self._ticks is None:
            self._due = time.monotonic() + seconds
        self._ticks = (seconds, handler)

    def rest(self) -> None:
        self._ticks = None

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select(self._until_tick()):
                # An earlier handler of this round may have closed it.
                if self._selector.get_map().get(key.fd) is key:
                    self._call(key.data)

    def _until_tick(self) -> float | None:
        if self._ticks is None:
            return None
        left = self._due - time.monotonic()
        if left > 0:
            return left
        seconds, handler = self._ticks
        self._call(handler)
        self._due = time.monotonic() + seconds
        return 0.0

    def _call(self, handler: Callable[[], None]) -> None:
        try:
            handler()
        except Exception:
            # The root of a process whose end is the end of pods: one that cannot open a file must not take them along.
            traceback.print_exc()
            time.sleep(_PAUSE)

    def _reap(self) -> None:
        try:
            self._wake_in.recv(4096)
        except BlockingIOError:
            return
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            self._ended(child, status)


def _noted(_number: int, _frame: object) -> None:
    """Only its wake-up matters."""
