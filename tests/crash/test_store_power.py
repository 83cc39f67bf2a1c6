"""Power loss at any moment takes no acknowledged write, and brings no revision back.

The same check finds lost writes as soon as a commit is not synced, so it is able to find them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from rayward.local.store import Event, Record, Retention, Store, StoreFailed, Tuning
from rayward.local.store.database import Database
from rayward.local.store.state import State
from tests.crash.disk import Disk, Noted, Synced, images

pytestmark = pytest.mark.anyio
_READER = Tuning(max_queued=64)


@dataclass(frozen=True)
class Allotted:
    """An encoder was called with this revision."""

    revision: int


@dataclass(frozen=True)
class Seen:
    """Somebody has been told of everything up to here."""

    revision: int


class _Life:
    """Stores opened one after another on one disk, used as a busy server would."""

    def __init__(self, folder: Path, synchronous: Literal["FULL", "NORMAL"], random: Random) -> None:
        self.disk = Disk(refuse=lambda operation: self.sync_fails and isinstance(operation, Synced))
        self.sync_fails = False
        self.history: list[Event] = []
        self._path = folder / "db"
        self._synchronous: Literal["FULL", "NORMAL"] = synchronous
        self._random = random

    async def open(self, synchronous: Literal["FULL", "NORMAL"] | None = None) -> Store:
        tuning = Tuning(
            vfs=self.disk.name,
            synchronous=synchronous or self._synchronous,
            max_queued=64,
            max_batch=8,
            checkpoint_bytes=100_000,
        )
        store = await Store.open(
            self._path, on_commit=self._on_commit, tuning=tuning, retention=Retention(superseded_bytes=20_000)
        )
        known = self.history[-1].revision if self.history else 0
        self.history.extend(event for event in store.events(store.compacted, "") if event.revision > known)
        self.disk.note(Seen(store.revision))
        return store

    def _on_commit(self, events: Sequence[Event]) -> None:
        self.history.extend(events)
        self.disk.note(Seen(events[-1].revision))

    def _encode(self, revision: int) -> bytes:
        self.disk.note(Allotted(revision))
        return b"%d " % revision * self._random.choice((1, 20, 800))

    async def work(self, store: Store, writers: int, rounds: int) -> None:
        async def writer() -> None:
            for _ in range(rounds):
                key = f"/pods/x/{self._random.randrange(12)}"
                if self._random.random() < 0.25 and store.newest(key):
                    await store.delete(key, self._encode, expect=None)
                else:
                    await store.put(key, self._encode, expect=None)

        await asyncio.gather(*(writer() for _ in range(writers)))

    async def run(self) -> None:
        store = await self.open()
        await self.work(store, writers=12, rounds=8)
        await store.compact(keep_events=20, keep_seconds=0)
        await self.work(store, writers=1, rounds=10)
        await store.close()
        store = await self.open()
        await self.work(store, writers=6, rounds=8)
        await store.close()


@dataclass
class _Verdict:
    points: int = 0
    with_loss: int = 0


def _judge(life: _Life, folder: Path, random: Random | None, every: int, first: int = 0) -> _Verdict:
    """Fail the power at every ``every``-th operation from the ``first`` on and look at what remains."""
    verdict = _Verdict()
    operations = life.disk.operations
    for position, image in images(operations, random):
        if position < first or position % every:
            continue
        notes = [operation.note for operation in operations[:position] if isinstance(operation, Noted)]
        seen = max((note.revision for note in notes if isinstance(note, Seen)), default=0)
        allotted = max((note.revision for note in notes if isinstance(note, Allotted)), default=0)
        verdict.points += 1
        if not _survives(life.history, folder, image, seen, allotted):
            verdict.with_loss += 1
    return verdict


def _survives(history: list[Event], folder: Path, image: dict[str, bytes], seen: int, allotted: int) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)
    database = Database.open(folder / "db", _READER)
    try:
        assert database._connection.pragma("integrity_check") == "ok"
        state = State.load(database.rows(), database.floor, database.compacted)
        last = max([database.compacted, *(event.revision for event in state.events(database.compacted, ""))])
        assert state.records == _state_at(history, last), "what is there was written, in this order"
        acknowledged = max((event.revision for event in history if event.revision <= seen), default=0)
        return last >= acknowledged and database.floor >= max(allotted, seen)
    finally:
        database.abandon()


def _state_at(history: list[Event], revision: int) -> dict[str, Record]:
    state: dict[str, Record] = {}
    for event in history:
        if event.revision > revision:
            break
        if event.record is None:
            del state[event.key]
        else:
            state[event.key] = event.record
    return state


@pytest.mark.parametrize("reorders", [False, True], ids=["forgets all unsynced bytes", "keeps any unsynced sectors"])
async def test_no_acknowledged_write_is_lost_at_any_point(tmp_path: Path, reorders: bool) -> None:
    life = _Life(tmp_path, "FULL", Random(1))
    await life.run()
    verdict = _judge(life, tmp_path / "image", Random(2) if reorders else None, every=2)
    print(f"power loss: {verdict.points} points tried, {verdict.with_loss} with a lost write")
    assert verdict.points > 200
    assert verdict.with_loss == 0


async def test_the_same_check_finds_lost_writes_when_commits_are_not_synced(tmp_path: Path) -> None:
    life = _Life(tmp_path, "NORMAL", Random(1))
    await life.run()
    verdict = _judge(life, tmp_path / "image", None, every=2)
    print(f"power loss with synchronous=NORMAL: {verdict.points} points tried, {verdict.with_loss} with a lost write")
    assert verdict.with_loss > verdict.points // 10


async def test_what_a_killed_process_left_unsynced_is_made_durable_before_anybody_sees_it(tmp_path: Path) -> None:
    life = _Life(tmp_path, "FULL", Random(3))
    killed = await life.open(synchronous="NORMAL")  # its commits are in the page cache, as if killed before each sync
    await life.work(killed, writers=4, rounds=5)
    await killed._writer.call(lambda database: database.abandon(), last=True)
    killed._writer.join()
    killed._lock.release()

    store = await life.open()
    reopened = len(life.disk.operations)
    assert store.count("/pods/") > 0
    await life.work(store, writers=2, rounds=5)
    await store.close()
    assert _judge(life, tmp_path / "image", None, every=1, first=reopened).with_loss == 0


async def test_a_write_whose_sync_failed_is_durable_once_a_later_process_shows_it(tmp_path: Path) -> None:
    """After a failed fsync Linux takes the pages for written; only writing them anew helps."""
    life = _Life(tmp_path, "FULL", Random(4))
    failing = await life.open()
    await life.work(failing, writers=2, rounds=3)
    life.sync_fails = True
    with pytest.raises(StoreFailed):
        await failing.put("/pods/x/unknown", lambda revision: b"%d" % revision, expect=None)
    with pytest.raises(StoreFailed):
        await failing.close()
    life.sync_fails = False

    store = await life.open()
    reopened = len(life.disk.operations)
    assert store.get("/pods/x/unknown"), "the page cache still has it, so it is shown"
    await life.work(store, writers=2, rounds=5)
    await store.close()
    assert _judge(life, tmp_path / "image", None, every=1, first=reopened).with_loss == 0
