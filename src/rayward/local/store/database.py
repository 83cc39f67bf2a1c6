# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (apsw's own stubs name a type that the type checker cannot resolve)
"""The store's file: one SQLite connection, one log-shaped table.

Why no revision is ever used twice: a revision is shown to nobody before COMMIT returned, and a committed one is in the
file. One that was allotted, but lost with the process, was seen by the encoder alone. Still it does not come back: at
most ``max_queued`` revisions are allotted beyond the last committed one. The file says how many that were (``ahead``);
opening a store that was not closed skips as many, and the new floor is on disk before a revision above it is allotted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import apsw

from rayward.local.store.errors import DamagedError, FormatError, LockedError
from rayward.local.store.record import Event
from rayward.local.store.settings import Tuning

FORMAT: Final = 1
_APPLICATION: Final = int.from_bytes(b"Rywd")
_PAGE: Final = 4096
_TABLES: Final = """
CREATE TABLE log(
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, at INTEGER NOT NULL, deleted INTEGER NOT NULL, value BLOB NOT NULL
) STRICT;
CREATE TABLE meta(
    floor INTEGER NOT NULL, ahead INTEGER NOT NULL, compacted INTEGER NOT NULL, clean INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES (1, 0, 0, 1);
"""

Row = tuple[int, str, int, int, bytes]
"""One line of the log: revision, key, time in milliseconds, whether it deletes, value."""


class Database:
    """An open file. Every method blocks; one thread at a time may call them."""

    __slots__ = ("_connection", "_tuning", "compacted", "floor")

    floor: int
    """No revision up to here may be allotted."""
    compacted: int
    """Events up to here are gone."""

    def __init__(self, connection: apsw.Connection, tuning: Tuning) -> None:
        self._connection = connection
        self._tuning = tuning
        self.floor = self.compacted = 0

    @classmethod
    def open(cls, path: Path, tuning: Tuning) -> Self:
        """Open or create the file and make durable whatever it holds.

        Raises:
            FormatError: it is not a store, or of another format version.
            LockedError: another program has the database open.
            DamagedError: its content cannot be read.
        """
        try:
            connection = _connect(path, tuning)
        except apsw.BusyError as error:
            raise LockedError(path, None) from error
        except apsw.NotADBError as error:
            raise FormatError(f"{path} is not a Rayward store: it is not an SQLite database") from error
        except apsw.CorruptError as error:
            raise DamagedError(f"{path} is damaged: {error}") from error
        database = cls(connection, tuning)
        try:
            database._take_over()
        except apsw.CorruptError as error:
            connection.close()
            raise DamagedError(f"{path} is damaged: {error}") from error
        except BaseException:
            connection.close()
            raise
        return database

    def _take_over(self) -> None:
        floor, ahead, self.compacted, clean = self._counters()
        if not clean:
            # The end of the write-ahead log may be in the page cache only: its writer was killed before, or because,
            # fsync failed. Copying it writes every page anew; only then may anybody see it.
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        for (last,) in self._connection.execute("SELECT coalesce(max(revision), 0) FROM log"):
            self.floor = max(floor, self.compacted, last) + (0 if clean else ahead)
        self._connection.execute(
            "UPDATE meta SET floor = ?, ahead = ?, clean = 0", (self.floor, self._tuning.max_queued)
        )

    def _counters(self) -> tuple[int, int, int, int]:
        for floor, ahead, compacted, clean in self._connection.execute(
            "SELECT floor, ahead, compacted, clean FROM meta"
        ):
            return floor, ahead, compacted, clean
        raise DamagedError("the store has lost its counters")

    def rows(self) -> Iterator[Row]:
        """The whole log, oldest first.

        Raises:
            DamagedError: a part of it cannot be read.
        """
        try:
            yield from self._connection.execute("SELECT revision, key, at, deleted, value FROM log ORDER BY revision")  # pyright: ignore[reportReturnType]
        except apsw.CorruptError as error:
            raise DamagedError(f"{self._connection.filename} is damaged: {error}") from error

    def append(self, events: Sequence[Event], at: int) -> None:
        """Make ``events`` durable in one transaction.

        It is one statement, so that the interpreter lock is given up and taken back once, not once for each row.
        """
        size = 1 << (len(events) - 1).bit_length()
        values: list[int | str | bytes | None] = []
        for event in events:
            values += (event.revision, event.key, at, event.record is None, event.value)
        values += (None,) * (5 * (size - len(events)))
        self._connection.execute(_INSERTS[size], values)

    def compact(self, mark: int, revisions: Sequence[int]) -> None:
        """Remove the lines ``revisions`` and remember that history up to ``mark`` is incomplete, in one transaction."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute("DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?))", (json.dumps(revisions),))
        execute("UPDATE meta SET compacted = ?", (mark,))
        execute("COMMIT")
        self.compacted = mark

    @property
    def uncopied_bytes(self) -> int:
        """How much was written to the write-ahead log since the last checkpoint."""
        return self._connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0] * _PAGE

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file."""
        self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        self._connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE, True)

    def close(self, floor: int) -> None:
        """Close the file; every revision up to ``floor`` that was allotted is in it."""
        self._connection.execute("UPDATE meta SET floor = ?, clean = 1", (floor,))
        self._connection.close()

    def abandon(self) -> None:
        """Let go of the file without writing to it again."""
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close(True)


def _connect(path: Path, tuning: Tuning) -> apsw.Connection:
    # Secrets are in there. SQLite gives its other files the mode of this one.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = apsw.Connection(str(path), vfs=tuning.vfs)
    try:
        # Exclusive before the first access: no other process gets in, and no shared memory file is needed.
        connection.pragma("locking_mode", "EXCLUSIVE")
        ours = _has_format(connection, path)
        connection.pragma("journal_mode", "WAL")
        connection.pragma("synchronous", tuning.synchronous)
        connection.pragma("wal_autocheckpoint", 0)
        if sys.platform == "darwin":
            # Without these fsync ends in the cache of the drive.
            connection.pragma("fullfsync", True)
            connection.pragma("checkpoint_fullfsync", True)
        if not ours:
            _create(connection)
            _sync_folder(path.parent)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: apsw.Connection) -> None:
    with connection:
        connection.execute(_TABLES)
        connection.pragma("application_id", _APPLICATION)
        connection.pragma("user_version", FORMAT)


def _has_format(connection: apsw.Connection, path: Path) -> bool:
    """Whether the file is a store of our format; False if it is still empty."""
    application: int = connection.pragma("application_id")
    version: int = connection.pragma("user_version")
    if application == 0 and not list(connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")):
        return False
    if application != _APPLICATION:
        raise FormatError(f"{path} is not a Rayward store: it belongs to another program")
    if version != FORMAT:
        raise FormatError(f"{path} has store format {version}; this version of Rayward reads format {FORMAT}")
    return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _insert(size: int) -> str:
    rows = ",".join(["(?,?,?,?,?)"] * size)
    return f"INSERT INTO log SELECT * FROM (VALUES {rows}) WHERE column1 NOT NULL"  # noqa: S608


# A batch is filled up with NULLs to the next size, so that few statements are ever prepared.
_INSERTS: Final = {size: _insert(size) for size in (1, 2, 4, 8, 16, 32, 64, 128, 256)}
