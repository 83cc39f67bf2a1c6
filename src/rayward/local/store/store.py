"""The store as the API server uses it."""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from rayward.local.store.bucket import bucket_name
from rayward.local.store.database import Database
from rayward.local.store.errors import Conflict, Overloaded, StoreClosed, StoreError, StoreFailed
from rayward.local.store.history import superseded_revisions
from rayward.local.store.lock import FileLock
from rayward.local.store.record import Event, Record
from rayward.local.store.settings import Retention, Tuning
from rayward.local.store.state import State
from rayward.local.store.writer import Write, Writer

_KEY_LIMIT: Final = 2_048
_VALUE_LIMIT: Final = 64 << 20
# Forgetting in steps of this many events keeps the pause for writers short, yet is faster than they are.
_FORGET_STEP: Final = 1_024


class Store:
    """An open store. Reads are of committed state and cost no I/O; a write is an awaitable that ends after COMMIT."""

    def __init__(
        self,
        database: Database,
        lock: FileLock,
        *,
        on_commit: Callable[[Sequence[Event]], None],
        retention: Retention,
        tuning: Tuning,
        clock: Callable[[], float],
    ) -> None:
        self._state = State.load(database.rows(), database.floor, database.compacted)
        self._allotted = self._state.revision
        self._lock = lock
        self._on_commit = on_commit
        self._retention = retention
        self._tuning = tuning
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._newest: dict[str, Event] = {}
        self._outbox: list[Write] = []
        self._waiting: deque[Write] = deque()
        self._waiting_bytes = 0
        self._refusal: StoreError | None = None
        self._failure: Future[StoreFailed] = self._loop.create_future()
        self._closing: Future[None] | None = None
        self._writer = Writer(database, tuning, clock=clock, committed=self._committed, failed=self._failed)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        on_commit: Callable[[Sequence[Event]], None],
        retention: Retention | None = None,
        tuning: Tuning | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Open or create the store in the file ``path``.

        ``on_commit`` is called in the loop, once for each commit, with its events in order, after they became readable
        and before those who wrote them go on. It must not block or raise.

        Raises:
            LockedError: another process uses the store.
            FormatError: the file is something else, or of another format version.
            DamagedError: the file cannot be read.
        """
        tuning = tuning or Tuning()
        lock = FileLock.take(path)
        try:
            database = Database.open(path, tuning)
            try:
                return cls(
                    database,
                    lock,
                    on_commit=on_commit,
                    retention=retention or Retention(),
                    tuning=tuning,
                    clock=clock,
                )
            except BaseException:
                database.abandon()
                raise
        except BaseException:
            lock.release()
            raise

    @property
    def revision(self) -> int:
        """The last committed revision: all writes up to here are readable and acknowledged."""
        return self._state.revision

    @property
    def newest_revision(self) -> int:
        """The last revision that was given to a write; what was decided so far is stored up to here."""
        return self._allotted

    @property
    def compacted(self) -> int:
        """Events up to this revision are gone."""
        return self._state.history.compacted

    def get(self, key: str) -> Record | None:
        """The committed record of ``key``."""
        self._require_use()
        return self._state.records.get(key)

    def newest(self, key: str) -> Record | None:
        """What ``key`` will be once everything queued is committed.

        For decisions about the next write only: it may not be shown to anyone, since it can still be lost.
        """
        self._require_use()
        event = self._newest.get(key)
        return self._state.records.get(key) if event is None else event.record

    def keys(self, prefix: str) -> Sequence[str]:
        """The keys that begin with ``prefix`` (``/pods/`` or ``/pods/default/``), in order.

        The same object comes back as long as no key of that resource came or went.
        """
        self._require_use()
        return self._state.keys(prefix)

    def count(self, prefix: str) -> int:
        """How many keys begin with ``prefix``."""
        self._require_use()
        return self._state.count(prefix)

    def newest_keys(self, prefix: str) -> Sequence[str]:
        """The keys that will begin with ``prefix`` once everything queued is committed."""
        keys = self.keys(prefix)
        queued = {key: event for key, event in self._newest.items() if key.startswith(prefix)}
        if not queued:
            return keys
        new = [key for key, event in queued.items() if event.record is not None]
        return [*(key for key in keys if key not in queued), *new]

    def newest_count(self, prefix: str) -> int:
        """How many keys will begin with ``prefix`` once everything queued is committed."""
        count = self.count(prefix)
        for key, event in self._newest.items():
            if key.startswith(prefix):
                count += (event.record is not None) - (key in self._state.records)
        return count

    def events(self, since: int, prefix: str) -> Sequence[Event]:
        """The committed events above ``since`` whose key begins with ``prefix`` (empty: all), in order.

        Raises:
            Compacted: some of them are gone.
        """
        self._require_use()
        return self._state.events(since, prefix)

    def snapshot(self, prefix: str, revision: int, *, after: str = "", limit: int | None = None) -> Sequence[Record]:
        """The records under ``prefix`` as they were at ``revision``, in the order of their keys.

        Only those whose key is above ``after`` and at most ``limit``: one page of a list costs one page of work.

        Raises:
            Compacted: that state is gone.
        """
        self._require_use()
        return self._state.snapshot(prefix, revision, after, limit)

    def put(self, key: str, encode: Callable[[int], bytes], *, expect: int | None) -> Awaitable[Record]:
        """Write a value; the awaitable ends when it is committed.

        ``encode`` is called at once with the revision of this write, so that the value can carry it. It must not write
        to the store. ``expect`` is the revision that the newest version must have, 0 for none, None for any.

        Raises:
            Conflict: at once, if the newest version is another one.
            Overloaded: at once, if too many writes wait.
            StoreFailed: from the awaitable too; whether the write is durable is then unknown.
        """
        previous = self._expect(key, expect)
        revision, value = self._encode(encode)
        record = Record(key if previous is None else previous.key, revision, value)
        done: Future[Record] = self._loop.create_future()
        self._queue(Write(Event(revision, record.key, record, previous, value), done))
        return done

    def delete(self, key: str, encode: Callable[[int], bytes], *, expect: int | None) -> Awaitable[Event]:
        """Delete a key; what ``encode`` returns for the revision of the deletion is the event's final value.

        Raises:
            Conflict: at once, if the newest version is another one than expected, or there is none.
            Overloaded: at once, if too many writes wait.
            StoreFailed: from the awaitable too; whether the deletion is durable is then unknown.
        """
        previous = self._expect(key, expect)
        if previous is None:
            raise Conflict(key, expect, 0)
        revision, value = self._encode(encode)
        done: Future[Event] = self._loop.create_future()
        self._queue(Write(Event(revision, previous.key, None, previous, value), done))
        return done

    async def committed(self, revision: int) -> None:
        """Wait until a revision that ``newest`` showed may be shown to others."""
        if revision > self.revision:
            pending = next(write.done for write in self._waiting if write.event.revision >= revision)
            await asyncio.wait([pending])
            self._require_use()

    async def compact(self, keep_events: int | None = None, keep_seconds: float | None = None) -> int:
        """Forget old events now and return the mark up to which they are gone, once that is durable.

        Events stay that are among the last ``keep_events`` or not older than ``keep_seconds``. The store does this by
        itself from time to time, as its retention says.
        """
        self._require_use()
        keep = self._retention
        keep = replace(
            keep,
            events=keep.events if keep_events is None else keep_events,
            seconds=keep.seconds if keep_seconds is None else keep_seconds,
        )
        mark = self._state.history.may_forget(keep, self._now())
        if mark > self.compacted:
            await self._writer.call(self._forgetting(mark))
        return mark

    async def failure(self) -> StoreFailed:
        """Wait until the store fails. The process must then end: what the disk holds is no longer known."""
        return await asyncio.shield(self._failure)

    async def close(self) -> None:
        """Commit what is queued, then close the file and let others open it.

        Raises:
            StoreFailed: the store has failed; the file is closed all the same.
        """
        if self._closing is None:
            self._flush()
            self._refusal = self._refusal or StoreClosed("the store is closed")
            self._closing = self._writer.call(lambda database: database.close(self._allotted), last=True)
        try:
            await asyncio.shield(self._closing)
        finally:
            if self._closing.done():
                self._writer.join()
                self._lock.release()

    def _require_use(self) -> None:
        if self._refusal is not None:
            raise _fresh(self._refusal)

    def _expect(self, key: str, expect: int | None) -> Record | None:
        """The newest version of a key that is about to be written, if it is the expected one."""
        previous = self.newest(key)
        if previous is None:
            _check_key(key)
        actual = 0 if previous is None else previous.revision
        if expect is not None and expect != actual:
            raise Conflict(key, expect, actual)
        return previous

    def _encode(self, encode: Callable[[int], bytes]) -> tuple[int, bytes]:
        ahead = self._allotted - self._state.revision
        if ahead >= self._tuning.max_queued or self._waiting_bytes >= self._tuning.max_queued_bytes:
            raise Overloaded(f"{len(self._waiting)} writes of {self._waiting_bytes} bytes wait for the disk")
        revision = self._allotted + 1
        value = encode(revision)
        if revision != self._allotted + 1:
            raise RuntimeError("encode wrote to the store")
        if len(value) > _VALUE_LIMIT:
            raise ValueError(f"a value of {len(value)} bytes is larger than {_VALUE_LIMIT}")
        self._allotted = revision
        return revision, value

    def _queue(self, write: Write) -> None:
        event = write.event
        self._newest[event.key] = event
        self._waiting.append(write)
        self._waiting_bytes += len(event.value)
        if not self._outbox:
            # Handed over when the loop has run everything that is ready, so that writes of one round share a commit.
            self._loop.call_soon(self._flush)
        self._outbox.append(write)

    def _flush(self) -> None:
        if self._outbox:
            self._writer.write(self._outbox)
            self._outbox = []

    def _committed(self, writes: Sequence[Write], at: int) -> None:
        events = [write.event for write in writes]
        self._state.commit(events, at)
        newest = self._newest
        for event in events:
            self._waiting.popleft()
            self._waiting_bytes -= len(event.value)
            if newest[event.key] is event:
                del newest[event.key]
        try:
            self._on_commit(events)
        finally:
            for event, done in writes:
                if not done.done():
                    done.set_result(event.record or event)  # pyright: ignore[reportArgumentType]
        if self._state.history.is_due(self._retention, self._now(), _FORGET_STEP):
            self._forget_some()

    def _forget_some(self) -> None:
        mark = self._state.history.may_forget(self._retention, self._now(), _FORGET_STEP)
        if mark > self.compacted:
            self._writer.run(self._forgetting(mark))

    def _forgetting(self, mark: int) -> Callable[[Database], None]:
        revisions = superseded_revisions(self._state.forget(mark))
        return lambda database: database.compact(mark, revisions)

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _failed(self, failure: StoreFailed) -> None:
        self._refusal = failure
        for _, done in self._waiting:
            if not done.done():
                done.set_exception(_fresh(failure))
        self._failure.set_result(failure)


def _fresh(error: StoreError) -> StoreError:
    """A copy to raise: one that is raised again and again would gather tracebacks."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy


def _check_key(key: str) -> None:
    bucket_name(key)
    if len(key) > _KEY_LIMIT:
        raise ValueError(f"a key of {len(key)} characters is longer than {_KEY_LIMIT}")
    if not key.isascii():
        key.encode()
