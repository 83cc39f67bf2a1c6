from __future__ import annotations

import sqlite3
from pathlib import Path

import apsw
import pytest

from rayward.local.store import DamagedError, FormatError, LockedError, Tuning
from rayward.local.store.database import Database
from tests.store.support import created, deleted

_TUNING = Tuning(max_queued=100)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def _events(first: int, count: int) -> list[tuple[int, str]]:
    return [(first + number, f"/pods/x/{first + number}") for number in range(count)]


def _kill(database: Database) -> None:
    """What remains when the process ends at once."""
    database.abandon()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 255, 256])
def test_a_batch_of_any_size_is_written_whole(path: Path, count: int) -> None:
    database = Database.open(path, _TUNING)
    database.append([created(key, revision, b"v") for revision, key in _events(2, count)], 7)
    assert list(database.rows()) == [(revision, key, 7, 0, b"v") for revision, key in _events(2, count)]
    database.close(count + 1)


def test_deletions_are_marked(path: Path) -> None:
    database = Database.open(path, _TUNING)
    first = created("/pods/x/a", 2)
    database.append([first, deleted(first.record, 3, b"last")], 7)
    assert list(database.rows()) == [(2, "/pods/x/a", 7, 0, b"v"), (3, "/pods/x/a", 7, 1, b"last")]
    database.close(3)


def test_compaction_removes_lines_and_keeps_the_mark(path: Path) -> None:
    database = Database.open(path, _TUNING)
    database.append([created(key, revision) for revision, key in _events(2, 4)], 7)
    database.compact(4, [2, 4])
    database.close(5)
    database = Database.open(path, _TUNING)
    assert ([row[0] for row in database.rows()], database.compacted) == ([3, 5], 4)
    database.close(5)


def test_after_closing_revisions_go_on_without_a_gap(path: Path) -> None:
    Database.open(path, _TUNING).close(41)
    database = Database.open(path, _TUNING)
    assert database.floor == 41
    database.close(41)


def test_after_a_kill_as_many_are_skipped_as_could_have_been_allotted(path: Path) -> None:
    database = Database.open(path, _TUNING)
    assert database.floor == 1
    database.append([created("/pods/x/a", 2)], 7)
    _kill(database)
    database = Database.open(path, Tuning(max_queued=5))
    assert database.floor == 102
    _kill(database)
    database = Database.open(path, _TUNING)
    assert database.floor == 107, "killed again before anything was written"
    database.close(107)


def test_the_floor_is_above_a_compacted_deletion(path: Path) -> None:
    database = Database.open(path, _TUNING)
    first = created("/pods/x/a", 2)
    database.append([first, deleted(first.record, 3)], 7)
    database.compact(3, [2, 3])
    _kill(database)
    database = Database.open(path, _TUNING)
    assert (list(database.rows()), database.floor) == ([], 103)
    database.close(103)


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    database = Database.open(path, _TUNING)
    database.append([created("/pods/x/a", 2)], 7)
    files = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
    assert files == {"store.db": "0o600", "store.db-wal": "0o600"}
    database.close(2)


def test_closing_leaves_one_file(path: Path) -> None:
    database = Database.open(path, _TUNING)
    database.append([created("/pods/x/a", 2)], 7)
    database.close(2)
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_a_checkpoint_empties_the_count(path: Path) -> None:
    database = Database.open(path, _TUNING)
    database.append([created("/pods/x/a", 2, b"x" * 50_000)], 7)
    assert database.uncopied_bytes >= 50_000
    database.checkpoint()
    assert database.uncopied_bytes == 0
    database.close(2)


def test_every_commit_is_synced(path: Path) -> None:
    database = Database.open(path, Tuning())
    pragma = database._connection.pragma
    assert [pragma("journal_mode"), pragma("synchronous"), pragma("locking_mode")] == ["wal", 2, "exclusive"]
    assert pragma("wal_autocheckpoint") == 0
    database.close(1)


def test_a_newer_format_is_refused_and_named(path: Path) -> None:
    Database.open(path, _TUNING).close(1)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 7")
    other.close()
    before = path.read_bytes()
    with pytest.raises(FormatError, match="has store format 7; this version of Rayward reads format 1"):
        Database.open(path, _TUNING)
    assert path.read_bytes() == before


def test_another_programs_database_is_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t(x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(FormatError, match="belongs to another program"):
        Database.open(path, _TUNING)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"not a database, but a long text\n" * 200)
    before = path.read_bytes()
    with pytest.raises(FormatError, match="is not an SQLite database"):
        Database.open(path, _TUNING)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    Database.open(path, _TUNING).close(1)
    assert path.stat().st_size > 0


@pytest.mark.parametrize("page", [1, 2, 30, 45], ids=["counters", "root", "a leaf", "another leaf"])
def test_a_damaged_file_is_named(path: Path, page: int) -> None:
    database = Database.open(path, _TUNING)
    database.append([created(key, revision, b"x" * 3000) for revision, key in _events(2, 50)], 7)
    database.close(51)
    content = bytearray(path.read_bytes())
    content[4096 * page : 4096 * (page + 1)] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"store\.db is damaged"):
        list(Database.open(path, _TUNING).rows())


def test_a_database_that_another_program_has_open_is_refused(path: Path) -> None:
    Database.open(path, _TUNING).close(1)
    other = apsw.Connection(str(path))
    other.pragma("locking_mode", "EXCLUSIVE")
    other.execute("UPDATE meta SET floor = floor")
    with pytest.raises(LockedError, match="another process"):
        Database.open(path, _TUNING)
    other.close()
