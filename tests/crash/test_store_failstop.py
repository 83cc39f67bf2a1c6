"""When the disk refuses a write, nothing is acknowledged any more and the process is told to end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rayward.local.store import Event, Store, StoreFailed, Tuning
from tests.crash.disk import Disk, Operation, Synced, SyncRefused, Wrote
from tests.store.support import ignore, opened, says

pytestmark = pytest.mark.anyio
_KEY = "/pods/x/a"


class _Trap:
    """Refuses every operation of a kind once it is set."""

    def __init__(self, kind: type[Synced] | type[Wrote]) -> None:
        self.kind = kind
        self.set = False

    def __call__(self, operation: Operation) -> bool:
        return self.set and isinstance(operation, self.kind)


@pytest.mark.parametrize("kind", [Synced, Wrote], ids=["sync fails", "write fails"])
async def test_a_failed_commit_stops_everything(tmp_path: Path, kind: type[Synced] | type[Wrote]) -> None:
    trap = _Trap(kind)
    disk = Disk(refuse=trap)
    told: list[int] = []

    def on_commit(events: Sequence[Event]) -> None:
        told.extend(event.revision for event in events)

    store = await Store.open(tmp_path / "db", on_commit=on_commit, tuning=Tuning(vfs=disk.name))
    failure = asyncio.create_task(store.failure())
    await store.put(_KEY, says("kept"), expect=0)
    trap.set = True
    before = len(disk.operations)
    waiting = [store.put(f"/pods/x/{number}", says("lost"), expect=0) for number in range(5)]
    compaction = asyncio.create_task(store.compact(0, 0))
    results = await asyncio.gather(*waiting, compaction, return_exceptions=True)

    assert [type(result) for result in results] == [StoreFailed] * 6
    assert "writing to the store failed" in str(await failure)
    assert told == [2]
    for use in (
        lambda: store.get(_KEY),
        lambda: store.keys("/pods/"),
        lambda: store.events(0, ""),
        lambda: store.put(_KEY, says("v"), expect=None),
    ):
        with pytest.raises(StoreFailed):
            use()
    for _ in range(2):
        with pytest.raises(StoreFailed):
            await store.close()
    refused = [operation for operation in disk.operations[before:] if isinstance(operation, (kind, SyncRefused))]
    assert len(refused) == 1, "never tried again, not even to close"

    async with opened(tmp_path / "db") as again:
        assert [record.key for record in again.snapshot("/pods/", again.revision)][-1:] == [_KEY]
        assert (await again.put("/pods/x/new", says("v"), expect=0)).revision > 7


async def test_a_failed_checkpoint_stops_everything_too(tmp_path: Path) -> None:
    trap = _Trap(Synced)
    disk = Disk(refuse=lambda operation: trap(operation) and operation[0] == "db")
    store = await Store.open(
        tmp_path / "db",
        on_commit=ignore,
        # more than opening writes: nothing is copied before the write is acknowledged
        tuning=Tuning(vfs=disk.name, idle_checkpoint_bytes=300_000, idle_seconds=0.001),
    )
    trap.set = True
    await store.put(_KEY, lambda _: bytes(400_000), expect=0)
    await store.failure()
    with pytest.raises(StoreFailed):
        await store.close()
    async with opened(tmp_path / "db") as again:
        assert again.get(_KEY) is not None


async def test_a_failure_while_closing_is_told(tmp_path: Path) -> None:
    trap = _Trap(Wrote)
    disk = Disk(refuse=trap)
    store = await Store.open(tmp_path / "db", on_commit=ignore, tuning=Tuning(vfs=disk.name))
    trap.set = True
    with pytest.raises(StoreFailed):
        await store.close()
    async with opened(tmp_path / "db"):
        pass
