"""Entries on disk, bounded: files of lines, of which the oldest goes when there are too many; or memory alone."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from rayward.changes.timeline.entry import Entry

FILE_BYTES: Final = 4 * 1024 * 1024
FILES: Final = 8
IN_MEMORY: Final = 20_000
_LONGEST: Final = 16 * 1024
"""Bytes of one entry; what is longer is cut."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


class Store:
    """Appends entries and reads them back, the oldest first.

    A process that dies leaves at worst half a line, which readers pass over. One process writes; any may read.
    """

    def __init__(self, folder: Path | None = None, *, file_bytes: int = FILE_BYTES, files: int = FILES) -> None:
        self._folder = folder
        self._file_bytes = file_bytes
        self._files = files
        self._memory: deque[Entry] = deque(maxlen=IN_MEMORY)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def durable(self) -> bool:
        """Whether entries outlive the process."""
        return self._folder is not None

    @property
    def since(self) -> str | None:
        """The time of the oldest entry, of whatever object; None without any."""
        first = next(self.read(), None)
        return first.at if first is not None else None

    def append(self, entries: Iterable[Entry]) -> None:
        """Keep entries; a full disk costs the record, and nothing else."""
        if self._folder is None:
            self._memory.extend(entries)
            return
        text = b"".join(_encode(_cut(one)) + b"\n" for one in entries)
        if not text:
            return
        with contextlib.suppress(OSError):
            file = self._current()
            if file.exists() and file.stat().st_size + len(text) > self._file_bytes:
                file = self._next(file)
            with file.open("ab") as out:
                out.write(text)

    def read(self) -> Iterator[Entry]:
        """Every entry that is kept."""
        if self._folder is None:
            yield from tuple(self._memory)
            return
        for file in self._all():
            try:
                lines = file.read_bytes().splitlines()
            except OSError:
                # the writer has removed it meanwhile
                continue
            for line in lines:
                with contextlib.suppress(msgspec.DecodeError):
                    yield _decode(line)

    def _all(self) -> list[Path]:
        assert self._folder is not None
        return sorted(self._folder.glob("timeline-*.jsonl"))

    def _current(self) -> Path:
        assert self._folder is not None
        found = self._all()
        return found[-1] if found else self._folder / "timeline-00000001.jsonl"

    def _next(self, file: Path) -> Path:
        assert self._folder is not None
        number = int(file.stem.rpartition("-")[2]) + 1
        for old in self._all()[: -(self._files - 1) or None]:
            old.unlink(missing_ok=True)
        return self._folder / f"timeline-{number:08d}.jsonl"


def _cut(entry: Entry) -> Entry:
    if len(entry.detail) + len(entry.text) <= _LONGEST:
        return entry
    return msgspec.structs.replace(entry, text=entry.text[:1000], detail=entry.detail[-_LONGEST:])
