"""The progress of a change: on a terminal one line that lives, anywhere else one line for each new state."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from rayward.changes.judging import Verdict
from rayward.changes.refs import Ref
from rayward.cli.output import tell

_EVERY: Final = 0.5
_CLEAR: Final = "\r\x1b[K"


@contextmanager
def progress(about: str, following: str = "") -> Generator[Callable[[Verdict], None]]:
    """Says each new state of an object, for as long as it is waited for; and what to do where that is interrupted."""
    try:
        with _shown(about) as say:
            yield say
    except KeyboardInterrupt:
        tell(f"{about}: interrupted; {following or f'the change goes on without you: rayward wait {about}'}")
        raise


@contextmanager
def progress_of(refs: Sequence[Ref]) -> Generator[Callable[[Ref, Verdict], None]]:
    """``progress`` for several objects that are waited for together: of more than one, each state is a line."""
    if len(refs) == 1:
        with progress(str(refs[0])) as say:
            yield lambda _ref, verdict: say(verdict)
        return
    try:
        yield lambda ref, verdict: tell(f"{ref}: {verdict}")
    except KeyboardInterrupt:
        tell("interrupted; the changes go on without you:")
        for ref in refs:
            tell(f"  rayward wait {ref}")
        raise


@contextmanager
def _shown(about: str) -> Generator[Callable[[Verdict], None]]:
    if not sys.stderr.isatty():
        yield lambda verdict: tell(f"{about}: {verdict}")
        return
    live = Live(about, sys.stderr)
    ended = threading.Event()

    def redraw() -> None:
        while not ended.wait(_EVERY):
            live.draw()

    drawing = threading.Thread(target=redraw, name="progress", daemon=True)
    drawing.start()
    try:
        yield live.tell
    finally:
        ended.set()
        drawing.join()
        live.close()


class Live:
    """The state that an object is in and for how long; states that are over stay above it, each on a line."""

    def __init__(
        self,
        about: str,
        stream: TextIO,
        *,
        now: Callable[[], float] = time.monotonic,
        columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self._about = about
        self._stream = stream
        self._now = now
        self._columns = columns
        self._state = ""
        self._since = now()
        self._lock = threading.Lock()

    def tell(self, verdict: Verdict) -> None:
        with self._lock:
            self._keep()
            self._state, self._since = " ".join(str(verdict).split()), self._now()
        self.draw()

    def draw(self) -> None:
        """Show the state again, with the time that it has lasted."""
        with self._lock:
            if self._state:
                self._stream.write(f"{_CLEAR}{self._line()}")
                self._stream.flush()

    def close(self) -> None:
        """Leave the last state where it is; what is written next begins a line."""
        with self._lock:
            self._keep()
            self._state = ""

    def _keep(self) -> None:
        if self._state:
            self._stream.write(f"{_CLEAR}{self._line()}\n")
            self._stream.flush()

    def _line(self) -> str:
        """As wide as the terminal at most: a line that wraps cannot be drawn over."""
        lasted = f" ({self._now() - self._since:.0f} s)"
        text = f"{self._about}: {self._state}"
        room = max(self._columns() - 1 - len(lasted), 20)
        return (text if len(text) <= room else f"{text[: room - 3]}...") + lasted
