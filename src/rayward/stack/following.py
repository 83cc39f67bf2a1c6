"""The logs of all parts as one stream, for who runs the stack in the foreground."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rayward.stack.folder import Folder

_POLL = 0.05
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Said:
    """One line of one part."""

    part: str
    line: str


@dataclass(slots=True)
class _Log:
    identity: int
    position: int
    rest: bytes = b""

    def read(self, path: Path) -> list[str]:
        """The lines since the last time; a file that took this one's place is read from its start."""
        try:
            found = path.stat()
            if found.st_ino != self.identity or found.st_size < self.position:
                self.identity, self.position, self.rest = found.st_ino, 0, b""
            if found.st_size == self.position:
                return []
            with path.open("rb") as log:
                log.seek(self.position)
                data = log.read(_MOST)
        except OSError:
            return []
        self.position += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


class Logs:
    """What the parts say from now on."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._logs = {path: _Log(path.stat().st_ino, path.stat().st_size) for path in self._files()}

    def follow(self, over: Callable[[], bool]) -> Iterator[Said]:
        """Lines as they come, until it is over and nothing is left to say."""
        while True:
            ended = over()
            silent = True
            for path in self._files():
                log = self._logs.setdefault(path, _Log(0, 0))
                for line in log.read(path):
                    silent = False
                    yield Said(path.stem, line)
            if silent:
                if ended:
                    return
                time.sleep(_POLL)

    def _files(self) -> list[Path]:
        return sorted(self._folder.logs.glob("*.log"))
