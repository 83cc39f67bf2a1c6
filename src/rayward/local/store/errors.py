"""What can go wrong in the store.

StoreError
├── LockedError   another process has the file: stop it, or use another folder
├── FormatError   the file is not ours, or of another format version
├── DamagedError  the file cannot be read: restore or remove it
├── Conflict      the key is not at the expected revision: read again and decide again
├── Compacted     the history asked for is gone: list again
├── Overloaded    too much is waiting for the disk: try later
├── StoreFailed   a write could not be made durable: end the process
└── StoreClosed   the store was used after close()
"""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """Anything the store refuses."""


class LockedError(StoreError):
    """Another process, ``pid`` where known, uses the store."""

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__(f"{path} is in use by {f'process {pid}' if pid else 'another process'}")
        self.path = path
        self.pid = pid


class FormatError(StoreError):
    """The file is not a store this version can read."""


class DamagedError(StoreError):
    """The file is a store but its content cannot be read."""


class Conflict(StoreError):  # noqa: N818
    """The newest version of ``key`` is ``actual`` (0: there is none), not ``expected`` (None: any that exists)."""

    def __init__(self, key: str, expected: int | None, actual: int) -> None:
        super().__init__(f"{key} is at revision {actual}, expected {'any' if expected is None else expected}")
        self.key = key
        self.expected = expected
        self.actual = actual


class Compacted(StoreError):  # noqa: N818
    """History after ``since`` was asked for, but everything up to ``compacted`` is gone."""

    def __init__(self, since: int, compacted: int) -> None:
        super().__init__(f"revision {since} is older than the oldest kept history, {compacted}")
        self.since = since
        self.compacted = compacted


class Overloaded(StoreError):  # noqa: N818
    """More writes wait for the disk than the store may hold."""


class StoreFailed(StoreError):  # noqa: N818
    """A write failed, so nothing is acknowledged any more; the process must end and start again."""


class StoreClosed(StoreError):  # noqa: N818
    """The store was closed."""
