"""A container's log as container runtimes write it: ``<time> stdout F <line>``, rotated by size."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO, Final

LONGEST_PIECE: Final = 16 * 1024
_MILLIARD: Final = 1_000_000_000


class LogFile:
    """The log of one run of one container."""

    def __init__(self, path: Path, largest: int, kept: int) -> None:
        self._path = path
        self._largest = largest
        self._kept = kept
        self._pending = {"stdout": bytearray(), "stderr": bytearray()}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._open()

    def write(self, stream: str, data: bytes) -> None:
        """Take what the container wrote; whole lines and long pieces go to the file."""
        pending = self._pending[stream]
        pending += data
        head, found, rest = pending.rpartition(b"\n")
        entries = bytearray()
        if found:
            stamp = _stamp()
            for line in head.split(b"\n"):
                self._enter(entries, stamp, stream, bytes(line))
            pending = self._pending[stream] = bytearray(rest)
        while len(pending) >= LONGEST_PIECE:
            entries += b"%b %b P %b\n" % (_stamp(), stream.encode(), pending[:LONGEST_PIECE])
            del pending[:LONGEST_PIECE]
        self._append(entries)

    def close(self) -> None:
        """Write what has no end of line yet, and let go of the file."""
        for stream, pending in self._pending.items():
            if pending:
                self._append(bytearray(b"%b %b F %b\n" % (_stamp(), stream.encode(), bytes(pending))))
        self._file.close()

    def _enter(self, entries: bytearray, stamp: bytes, stream: str, line: bytes) -> None:
        name = stream.encode()
        while len(line) > LONGEST_PIECE:
            entries += b"%b %b P %b\n" % (stamp, name, line[:LONGEST_PIECE])
            line = line[LONGEST_PIECE:]
        entries += b"%b %b F %b\n" % (stamp, name, line)

    def _append(self, entries: bytearray) -> None:
        if not entries:
            return
        try:
            if self._size and self._size + len(entries) > self._largest:
                self._rotate()
            self._file.write(entries)
        except (OSError, ValueError):
            # A full disk loses lines; it must not stop the container behind the pipe.
            return
        self._size += len(entries)

    def _open(self) -> None:
        self._file: BinaryIO = self._path.open("ab", buffering=0)
        self._size = self._file.tell()

    def _rotate(self) -> None:
        self._file.close()
        moment = time.time_ns()
        text = time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment // _MILLIARD))
        self._path.rename(self._path.with_name(f"{self._path.name}.{text}.{moment % _MILLIARD:09d}"))
        rotated = sorted(self._path.parent.glob(f"{self._path.name}.*"))
        for old in rotated[: max(0, len(rotated) - self._kept + 1)]:
            old.unlink(missing_ok=True)
        self._open()


def _stamp() -> bytes:
    seconds, rest = divmod(time.time_ns(), _MILLIARD)
    return b"%b.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), rest)


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place in one step: readers see all of it or nothing."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(path)
