from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rayward.local.store import Tuning
from rayward.local.store.database import Database
from rayward.local.store.errors import StoreFailed
from rayward.local.store.writer import Write, Writer, _Job
from tests.store.support import created


class _Listener:
    def __init__(self) -> None:
        self.commits: list[list[int]] = []
        self.failures: list[StoreFailed] = []

    def committed(self, writes: Sequence[Write], at: int) -> None:
        self.commits.append([write.event.revision for write in writes])

    def failed(self, failure: StoreFailed) -> None:
        self.failures.append(failure)


def _writer(path: Path, listener: Any, tuning: Tuning | None = None) -> tuple[Writer, Database]:
    tuning = tuning or Tuning()
    database = Database.open(path, tuning)
    writer = Writer(database, tuning, clock=lambda: 1.5, committed=listener.committed, failed=listener.failed)
    return writer, database


def _writes(first: int, count: int) -> list[Write]:
    loop = asyncio.get_running_loop()
    return [Write(created(f"/pods/x/{first + n}", first + n), loop.create_future()) for n in range(count)]


@pytest.mark.anyio
async def test_writes_and_jobs_are_done_in_the_order_they_were_given(tmp_path: Path) -> None:
    listener = _Listener()
    writer, _ = _writer(tmp_path / "db", listener)
    rows: list[int] = []
    writer.write(_writes(2, 3))
    await writer.call(lambda database: rows.extend(row[0] for row in database.rows()))
    assert (rows, listener.commits) == ([2, 3, 4], [[2, 3, 4]])
    writer.write(_writes(5, 1))
    await writer.call(lambda database: database.close(5), last=True)
    writer.join()
    assert listener.commits == [[2, 3, 4], [5]]


@pytest.mark.anyio
async def test_a_large_batch_is_committed_in_parts(tmp_path: Path) -> None:
    listener = _Listener()
    writer, _ = _writer(tmp_path / "db", listener, Tuning(max_batch=4))
    writer.write(_writes(2, 10))
    await writer.call(lambda database: database.close(11), last=True)
    assert [len(commit) for commit in listener.commits] == [4, 4, 2]


@pytest.mark.anyio
async def test_after_a_failure_calls_end_with_it(tmp_path: Path) -> None:
    listener = _Listener()
    writer, _ = _writer(tmp_path / "db", listener)

    def breaks(database: Database) -> None:
        raise OSError("no space")

    for _ in range(2):
        with pytest.raises(StoreFailed, match="no space"):
            await writer.call(breaks)
    writer.join()
    assert [str(failure) for failure in listener.failures] == ["writing to the store failed: OSError: no space"]


def test_a_loop_that_is_gone_hears_nothing_and_harms_nothing(tmp_path: Path) -> None:
    listener = _Listener()

    async def leave() -> tuple[Writer, list[Write]]:
        writer, _ = _writer(tmp_path / "db", listener)
        return writer, _writes(2, 1)

    writer, waiting = asyncio.run(leave())
    writer.write(waiting)
    writer._queue.put(_Job(lambda database: database.close(2), last=True))
    writer.join()
    assert listener.commits == []
    database = Database.open(tmp_path / "db", Tuning())
    assert [row[0] for row in database.rows()] == [2]
    database.close(2)
