"""A disk that can lose power: it keeps what a finished sync covers and may forget every other byte.

``Disk`` is an SQLite file system over real files that writes down every operation. ``images`` then tells what a machine
would find on the disk if the power had failed before each of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import apsw

_SECTOR = 512
_numbers = itertools.count()


class Wrote(NamedTuple):
    file: str
    offset: int
    data: bytes


class Truncated(NamedTuple):
    file: str
    size: int


class Synced(NamedTuple):
    file: str


class SyncRefused(NamedTuple):
    """The pages count as written from now on, but are not: so Linux has it."""

    file: str


class Removed(NamedTuple):
    file: str


class Noted(NamedTuple):
    """Not an operation of the disk: what the world had seen by then."""

    note: Any


Operation = Wrote | Truncated | Synced | SyncRefused | Removed | Noted


class Disk(apsw.VFS):
    """While it lives, SQLite knows it by ``name``."""

    def __init__(self, refuse: Callable[[Operation], bool] = lambda _: False) -> None:
        self.name = f"disk-{next(_numbers)}"
        self.operations: list[Operation] = []
        self._refuse = refuse
        super().__init__(self.name, "")

    def do(self, operation: Operation) -> None:
        refused = self._refuse(operation)
        self.operations.append(SyncRefused(operation.file) if refused and isinstance(operation, Synced) else operation)
        if refused:
            raise apsw.IOError(f"injected: {operation[0]}")

    def note(self, what: Any) -> None:
        self.operations.append(Noted(what))

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.do(Removed(Path(filename).name))
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.do(Wrote(self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.do(Truncated(self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.do(Synced(self._name))
        super().xSync(flags)


@dataclass
class _Content:
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.unsynced:
            _write(self.durable, offset, data)
        self.unsynced.clear()

    def truncate(self, size: int) -> None:
        del self.durable[size:]
        self.unsynced = [(offset, data[: size - offset]) for offset, data in self.unsynced if offset < size]

    def image(self, random: Random | None) -> bytes:
        """The durable bytes, with ``random`` also some unsynced sectors, as a drive that reorders would leave them."""
        if random is None:
            return bytes(self.durable)
        content = bytearray(self.durable)
        for offset, data in self.unsynced:
            for start in range(0, len(data), _SECTOR):
                if random.random() < 0.5:
                    _write(content, offset + start, data[start : start + _SECTOR])
        return bytes(content)


def images(operations: list[Operation], random: Random | None = None) -> Iterator[tuple[int, dict[str, bytes]]]:
    """For each operation, what the disk holds if the power fails just before it, and at the end."""
    files: dict[str, _Content] = {}
    for position, operation in enumerate(operations):
        if not isinstance(operation, Noted):
            yield position, {name: content.image(random) for name, content in files.items()}
        match operation:
            case Wrote(name, offset, data):
                files.setdefault(name, _Content()).unsynced.append((offset, data))
            case Truncated(name, size):
                files.setdefault(name, _Content()).truncate(size)
            case Synced(name):
                files.setdefault(name, _Content()).sync()
            case SyncRefused(name):
                files.setdefault(name, _Content()).unsynced.clear()
            case Removed(name):
                files.pop(name, None)
            case Noted():
                pass
    yield len(operations), {name: content.image(random) for name, content in files.items()}


def _write(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
