from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rayward.local.store import (
    Compacted,
    Conflict,
    Event,
    FormatError,
    LockedError,
    Overloaded,
    Record,
    Retention,
    Store,
    StoreClosed,
    Tuning,
)
from tests.store.support import ignore, opened, says, until

pytestmark = pytest.mark.anyio
_KEY = "/pods/x/a"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def _size(path: Path) -> int:
    return path.stat().st_size


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


async def test_a_write_returns_what_was_stored(path: Path) -> None:
    async with opened(path) as store:
        first = store.revision
        assert await store.put(_KEY, says("one"), expect=0) == Record(_KEY, first + 1, b"one@%d" % (first + 1))
        assert store.get(_KEY) == Record(_KEY, first + 1, b"one@%d" % (first + 1))
        assert store.revision == first + 1


async def test_a_fresh_store_is_at_a_revision_that_a_client_may_name(path: Path) -> None:
    async with opened(path) as store:
        assert (store.revision, store.compacted) == (1, 0)


async def test_a_delete_returns_the_event_with_its_final_bytes(path: Path) -> None:
    async with opened(path) as store:
        record = await store.put(_KEY, says("one"), expect=0)
        event = await store.delete(_KEY, says("gone"), expect=record.revision)
        assert event == Event(record.revision + 1, _KEY, None, record, b"gone@%d" % (record.revision + 1))
        assert (store.get(_KEY), store.count("/pods/")) == (None, 0)


@pytest.mark.parametrize(
    ("exists", "expect", "fits"),
    [
        pytest.param(False, 0, True, id="absent, must be absent"),
        pytest.param(False, None, True, id="absent, any"),
        pytest.param(False, 2, False, id="absent, must be at 2"),
        pytest.param(True, 0, False, id="at 2, must be absent"),
        pytest.param(True, None, True, id="at 2, any"),
        pytest.param(True, 2, True, id="at 2, must be at 2"),
        pytest.param(True, 1, False, id="at 2, must be at 1"),
    ],
)
async def test_a_put_goes_through_only_at_the_expected_revision(
    path: Path, exists: bool, expect: int | None, fits: bool
) -> None:
    async with opened(path) as store:
        if exists:
            await store.put(_KEY, says("one"), expect=0)
        if fits:
            await store.put(_KEY, says("two"), expect=expect)
            return
        with pytest.raises(Conflict) as caught:
            store.put(_KEY, says("two"), expect=expect)
        assert (caught.value.key, caught.value.expected, caught.value.actual) == (_KEY, expect, 2 if exists else 0)


@pytest.mark.parametrize("expect", [None, 0, 2])
async def test_what_is_absent_cannot_be_deleted(path: Path, expect: int | None) -> None:
    async with opened(path) as store:
        with pytest.raises(Conflict) as caught:
            store.delete(_KEY, says("gone"), expect=expect)
        assert caught.value.actual == 0


async def test_what_is_queued_decides_about_the_next_write_but_cannot_be_read(path: Path) -> None:
    async with opened(path) as store:
        before = store.revision
        first = store.put(_KEY, says("one"), expect=0)
        queued = store.newest(_KEY)
        assert queued is not None
        assert (store.get(_KEY), store.revision, list(store.keys("/pods/"))) == (None, before, [])
        with pytest.raises(Conflict):
            store.put(_KEY, says("two"), expect=0)
        second = store.put(_KEY, says("two"), expect=queued.revision)
        third = store.delete(_KEY, says("gone"), expect=queued.revision + 1)
        assert store.newest(_KEY) is None
        fourth = store.put(_KEY, says("again"), expect=0)
        assert [(await write).revision for write in (first, second, third, fourth)] == [2, 3, 4, 5]
        assert store.get(_KEY) == store.newest(_KEY) == Record(_KEY, 5, b"again@5")


async def test_the_newest_keys_are_those_after_everything_queued(path: Path) -> None:
    async with opened(path) as store:
        for name in ("a", "b"):
            await store.put(f"/pods/x/{name}", says(name), expect=0)
        assert list(store.newest_keys("/pods/x/")) == ["/pods/x/a", "/pods/x/b"]
        writes = [
            store.delete("/pods/x/a", says("gone"), expect=None),
            store.put("/pods/x/b", says("changed"), expect=None),
            store.put("/pods/x/c", says("new"), expect=0),
            store.put("/pods/y/d", says("elsewhere"), expect=0),
        ]
        assert sorted(store.newest_keys("/pods/x/")) == ["/pods/x/b", "/pods/x/c"]
        assert store.newest_count("/pods/x/") == 2
        await asyncio.gather(*writes)
        assert list(store.newest_keys("/pods/x/")) == ["/pods/x/b", "/pods/x/c"]


async def test_a_commit_is_told_once_in_order_before_its_writers_go_on(path: Path) -> None:
    told: list[list[int]] = []
    seen: list[tuple[str, int]] = []

    def on_commit(events: Sequence[Event]) -> None:
        told.append([event.revision for event in events])
        seen.extend(("event", event.revision) for event in events)
        assert store.revision == events[-1].revision
        assert store.get(events[-1].key) == events[-1].record

    async def write(number: int) -> None:
        record = await store.put(f"/pods/x/{number}", says("v"), expect=0)
        seen.append(("ack", record.revision))

    async with opened(path, on_commit) as store:
        await asyncio.gather(*(write(number) for number in range(600)))
    revisions = [revision for batch in told for revision in batch]
    assert revisions == list(range(2, 602))
    assert max(map(len, told)) <= 256
    assert len(told) < 60, "writes that wait share a commit"
    for revision in revisions:
        assert seen.index(("event", revision)) < seen.index(("ack", revision))


async def test_writers_go_on_even_when_the_listener_breaks(path: Path) -> None:
    def broken(events: Sequence[Event]) -> None:
        raise ZeroDivisionError

    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["exception"]))
    async with opened(path, broken) as store:
        assert (await store.put(_KEY, says("v"), expect=0)).revision == 2
    assert [type(problem) for problem in problems] == [ZeroDivisionError]


async def test_a_writer_that_gives_up_waiting_is_committed_all_the_same(path: Path) -> None:
    async with opened(path) as store:

        async def write() -> None:
            await store.put(_KEY, says("v"), expect=0)

        task = asyncio.create_task(write())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.put("/pods/x/b", says("v"), expect=0)
        assert store.get(_KEY) == Record(_KEY, 2, b"v@2")


async def test_an_encoder_that_fails_uses_no_revision(path: Path) -> None:
    async with opened(path) as store:

        def fails(revision: int) -> bytes:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.put(_KEY, fails, expect=0)
        assert store.newest(_KEY) is None
        assert (await store.put(_KEY, says("v"), expect=0)).revision == 2


async def test_an_encoder_must_not_write(path: Path) -> None:
    async with opened(path) as store:

        def writes(revision: int) -> bytes:
            store.put("/pods/x/b", says("v"), expect=0)
            return b""

        with pytest.raises(RuntimeError, match="encode wrote"):
            store.put(_KEY, writes, expect=0)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="empty"),
        pytest.param("/pods", id="no resource"),
        pytest.param("/pods/" + "x" * 2048, id="too long"),
        pytest.param("/pods/\ud800", id="not writable as text"),
    ],
)
async def test_a_key_that_cannot_be_stored_is_refused_at_once(path: Path, key: str) -> None:
    async with opened(path) as store:
        with pytest.raises(ValueError):  # noqa: PT011 - each key has its own text
            store.put(key, says("v"), expect=None)
        assert (await store.put("/clusterroles/ä", says("v"), expect=0)).revision == 2


async def test_a_value_that_is_too_large_is_refused_at_once(path: Path) -> None:
    async with opened(path) as store:
        with pytest.raises(ValueError, match="larger than"):
            store.put(_KEY, lambda _: bytes((64 << 20) + 1), expect=0)


@pytest.mark.parametrize("tuning", [Tuning(max_queued=10), Tuning(max_queued_bytes=30)], ids=["count", "bytes"])
async def test_only_so_many_writes_may_wait(path: Path, tuning: Tuning) -> None:
    async with opened(path, tuning=tuning) as store:
        waiting = [store.put(f"/pods/x/{number}", lambda _: b"123", expect=0) for number in range(10)]
        with pytest.raises(Overloaded):
            store.put(_KEY, says("v"), expect=0)
        await asyncio.gather(*waiting)
        await store.put(_KEY, says("v"), expect=0)


async def test_everything_is_there_again_after_reopening(path: Path) -> None:
    async with opened(path) as store:
        await asyncio.gather(*(store.put(f"/pods/x/{number}", says("v"), expect=0) for number in range(300)))
        await store.delete("/pods/x/7", says("gone"), expect=None)
        before = (store.revision, list(store.events(0, "")), store.snapshot("/pods/", store.revision))
    async with opened(path) as store:
        assert (store.revision, list(store.events(0, "")), store.snapshot("/pods/", store.revision)) == before
        assert (await store.put(_KEY, says("v"), expect=0)).revision == before[0] + 1


async def test_compaction_keeps_what_it_is_told_to_keep(path: Path) -> None:
    now = 1000.0
    async with opened(path, clock=lambda: now) as store:
        for number in range(10):
            await store.put(_KEY, says(str(number)), expect=None)
        now += 60
        await store.put(_KEY, says("young"), expect=None)
        assert await store.compact(keep_events=5, keep_seconds=30) == 7
        assert await store.compact(keep_events=0, keep_seconds=30) == store.compacted == 11
        with pytest.raises(Compacted):
            store.events(10, "/pods/")
        assert [event.revision for event in store.events(11, "/pods/")] == [12]
    async with opened(path, clock=lambda: now) as store:
        assert store.compacted == 11
        assert [event.revision for event in store.events(11, "/pods/")] == [12]
        assert [record.revision for record in store.snapshot("/pods/", 11)] == [11]


async def test_the_store_forgets_by_itself_when_history_takes_too_much_memory(path: Path) -> None:
    retention = Retention(events=10_000, seconds=10_000, superseded_bytes=100_000)
    async with opened(path, retention=retention) as store:
        for _ in range(40):
            await asyncio.gather(*(store.put(_KEY, lambda _: bytes(1000), expect=None) for _ in range(10)))
        assert store.compacted > 200
        assert len(store.events(store.compacted, "")) == pytest.approx(100, abs=20)
    async with opened(path) as store:
        assert store.compacted > 200
        assert store.get(_KEY) is not None


async def test_the_store_forgets_by_itself_when_history_is_old_and_long(path: Path) -> None:
    now = 1000.0
    async with opened(path, retention=Retention(events=100, seconds=10), clock=lambda: now) as store:
        for _ in range(5):
            await asyncio.gather(*(store.put(_KEY, says("v"), expect=None) for _ in range(250)))
        assert store.compacted == 0
        now += 11
        await store.put(_KEY, says("v"), expect=None)
        assert store.compacted == 1025
        assert len(store.events(store.compacted, "")) == 227


async def test_a_second_opener_is_refused(path: Path) -> None:
    async with opened(path):
        with pytest.raises(LockedError, match="in use by process"):
            await Store.open(path, on_commit=ignore)


async def test_a_failed_open_leaves_no_lock(path: Path) -> None:
    _write(path, b"something else " * 1000)
    for _ in range(2):
        with pytest.raises(FormatError):
            await Store.open(path, on_commit=ignore)


async def test_closing_commits_what_is_queued_and_then_refuses_everything(path: Path) -> None:
    store = await Store.open(path, on_commit=ignore)
    queued = store.put(_KEY, says("v"), expect=0)
    await asyncio.gather(store.close(), store.close())
    assert (await queued).revision == 2
    for use in (
        lambda: store.get(_KEY),
        lambda: store.newest(_KEY),
        lambda: store.keys("/pods/"),
        lambda: store.count("/pods/"),
        lambda: store.events(0, ""),
        lambda: store.snapshot("/pods/", 1),
        lambda: store.put(_KEY, says("v"), expect=None),
        lambda: store.delete(_KEY, says("v"), expect=None),
    ):
        with pytest.raises(StoreClosed):
            use()
    with pytest.raises(StoreClosed):
        await store.compact()
    async with opened(path) as again:
        assert again.get(_KEY) == Record(_KEY, 2, b"v@2")


async def test_the_log_is_copied_into_the_file_when_it_is_long(path: Path) -> None:
    log = path.with_name("store.db-wal")
    async with opened(path, tuning=Tuning(checkpoint_bytes=100_000)) as store:
        for number in range(40):
            await store.put(f"/pods/x/{number}", lambda _: bytes(50_000), expect=0)
        assert _size(log) < 400_000
        assert _size(path) > 1_500_000


async def test_the_log_is_copied_into_the_file_when_nothing_is_written(path: Path) -> None:
    async with opened(path, tuning=Tuning(idle_checkpoint_bytes=1, idle_seconds=0.001)) as store:
        await store.put(_KEY, lambda _: bytes(500_000), expect=0)
        await until(lambda: _size(path) > 500_000)
