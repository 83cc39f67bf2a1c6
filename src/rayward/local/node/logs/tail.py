"""The end of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_MOST_BYTES: Final = 2048
_MOST_LINES: Final = 80
_READ: Final = 256 * 1024


def last_lines(path: Path) -> str:
    """The last lines of a container's log, as a termination message."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _READ))
            entries = file.read().splitlines()
    except FileNotFoundError:
        return ""
    text = b"".join(_text(entry) for entry in entries[-_MOST_LINES:])
    return text[-_MOST_BYTES:].decode(errors="replace")


def _text(entry: bytes) -> bytes:
    parts = entry.split(b" ", 3)
    if len(parts) != 4:
        return b""
    return parts[3] + (b"\n" if parts[2] == b"F" else b"")
