"""Logs of containers as users ask for them."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

_FOLLOW_SECONDS: Final = 0.1
_READ: Final = 64 * 1024
_FIELDS: Final = 4


class Wanted(msgspec.Struct, frozen=True):
    """Which part of a log."""

    follow: bool = False
    tail: int | None = None
    since: str = ""
    """An RFC 3339 time in UTC, as logs write it."""
    limit: int | None = None
    timestamps: bool = False
    stream: str = ""


def files_of(path: Path) -> list[Path]:
    """A log's files, the oldest first."""
    rotated = sorted(path.parent.glob(f"{path.name}.*")) if path.parent.is_dir() else []
    return [*rotated, path] if path.exists() else rotated


def chosen(entries: Iterable[bytes], wanted: Wanted) -> Iterator[bytes]:
    """What users see of these entries; ``tail`` and ``limit`` are the caller's."""
    stream = {"Stdout": b"stdout", "Stderr": b"stderr"}.get(wanted.stream)
    since = wanted.since.encode()
    for entry in entries:
        parts = entry.split(b" ", 3)
        if len(parts) != _FIELDS or (stream is not None and parts[1] != stream) or parts[0] < since:
            continue
        end = b"\n" if parts[2] == b"F" else b""
        yield (parts[0] + b" " + parts[3] if wanted.timestamps else parts[3]) + end


def text(path: Path, wanted: Wanted) -> bytes:
    """The log as it is now."""
    return b"".join(_limited(_past(path, wanted), wanted.limit))


async def followed(path: Path, wanted: Wanted, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """The log as it is and as it grows, until ``ended`` says that nothing more will come."""
    left = wanted.limit
    file = _open(path)
    try:
        # One look at the size: what is written after it is neither missed nor told twice.
        size = file.seek(0, os.SEEK_END) if file is not None else None
        past = b"".join(_limited(_past(path, wanted, size), left))
        pending = b""
        yield past
        left = None if left is None else left - len(past)
        while left is None or left > 0:
            over = ended()
            file = file or _open(path)
            data = file.read(_READ) if file is not None else b""
            if data:
                *whole, pending = (pending + data).split(b"\n")
                part = b"".join(_limited(chosen(whole, wanted), left))
                left = None if left is None else left - len(part)
                yield part
            elif file is not None and _was_rotated(file, path):
                file.close()
                file = None
            elif over:
                return
            else:
                await asyncio.sleep(_FOLLOW_SECONDS)
    finally:
        if file is not None:
            file.close()


def _open(path: Path) -> BinaryIO | None:
    return path.open("rb") if path.exists() else None


def _was_rotated(file: BinaryIO, path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino != path.stat().st_ino
    except FileNotFoundError:
        return False


def _past(path: Path, wanted: Wanted, size: int | None = None) -> Iterable[bytes]:
    lines = chosen(_entries(path, size), wanted)
    if wanted.tail is None:
        return lines
    kept: deque[bytes] = deque()
    whole = 0
    for line in lines:
        kept.append(line)
        whole += line.endswith(b"\n")
        while whole > wanted.tail:
            whole -= kept.popleft().endswith(b"\n")
    return kept


def _entries(path: Path, size: int | None) -> Iterator[bytes]:
    for file in files_of(path):
        with file.open("rb") as opened:
            left = size if size is not None and file == path else None
            for line in opened:
                if left is not None:
                    left -= len(line)
                    if left < 0:
                        return
                yield line.rstrip(b"\n")


def _limited(parts: Iterable[bytes], limit: int | None) -> Iterator[bytes]:
    for part in parts:
        if limit is None:
            yield part
            continue
        if limit <= 0:
            return
        yield part[:limit]
        limit -= len(part)
