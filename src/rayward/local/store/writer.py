"""The one thread that writes to the file.

What comes in while a commit runs shares the next one. There is no waiting for more: a lone write costs one sync.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from rayward.local.store.database import Database
from rayward.local.store.errors import StoreFailed
from rayward.local.store.record import Event, Record
from rayward.local.store.settings import Tuning


class Write(NamedTuple):
    """A write on its way: the event it will be, and who waits for it."""

    event: Event
    done: Future[Record] | Future[Event]


class _Job(NamedTuple):
    run: Callable[[Database], object]
    done: Future[None] | None = None
    last: bool = False


class Writer:
    """Takes writes and jobs from the loop, in order, and reports back into the loop, in order."""

    def __init__(
        self,
        database: Database,
        tuning: Tuning,
        *,
        clock: Callable[[], float],
        committed: Callable[[Sequence[Write], int], None],
        failed: Callable[[StoreFailed], None],
    ) -> None:
        self._database = database
        self._tuning = tuning
        self._clock = clock
        self._committed = committed
        self._failed = failed
        self._failure: StoreFailed | None = None
        self._calls: set[Future[None]] = set()
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._queue: SimpleQueue[list[Write] | _Job] = SimpleQueue()
        # A daemon, so that a program which forgets to close the store can still end.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def write(self, writes: list[Write]) -> None:
        """Commit ``writes``, then report them."""
        self._queue.put(writes)

    def run(self, job: Callable[[Database], object]) -> None:
        """Run ``job`` after everything handed over so far."""
        self._queue.put(_Job(job))

    def call(self, job: Callable[[Database], object], *, last: bool = False) -> Future[None]:
        """Run ``job`` likewise and say when it is done; after the ``last`` one the thread ends."""
        done: Future[None] = self._loop.create_future()
        if self._failure is None:
            self._calls.add(done)
            done.add_done_callback(self._calls.discard)
            self._queue.put(_Job(job, done, last))
        else:
            done.set_exception(self._failure)
        return done

    def join(self) -> None:
        """Wait for the thread, which must have been told to end, or have failed."""
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._step():
                pass
        except Exception as error:
            # The root of this thread: whatever it was, nothing more may be acknowledged.
            self._database.abandon()
            self._report(self._fail, error)

    def _step(self) -> bool:
        writes: list[Write] = []
        job = self._gather(writes)
        limit = self._tuning.max_batch
        for start in range(0, len(writes), limit):
            self._commit(writes if len(writes) <= limit else writes[start : start + limit])
        if job is not None:
            job.run(self._database)
            if job.done is not None:
                self._report(_finish, job.done)
            return not job.last
        if self._database.uncopied_bytes > self._tuning.checkpoint_bytes:
            self._database.checkpoint()
        return True

    def _gather(self, writes: list[Write]) -> _Job | None:
        """Wait for something, then take all that is there up to the first job."""
        item = self._next()
        while True:
            if isinstance(item, _Job):
                return item
            writes += item
            if len(writes) >= self._tuning.max_batch or self._queue.empty():
                return None
            item = self._queue.get()

    def _next(self) -> list[Write] | _Job:
        if self._database.uncopied_bytes > self._tuning.idle_checkpoint_bytes:
            with suppress(Empty):
                return self._queue.get(timeout=self._tuning.idle_seconds)
            self._database.checkpoint()
        return self._queue.get()

    def _commit(self, writes: Sequence[Write]) -> None:
        at = int(self._clock() * 1000)
        self._database.append([write.event for write in writes], at)
        self._report(self._committed, writes, at)

    def _fail(self, error: Exception) -> None:
        self._failure = StoreFailed(f"writing to the store failed: {type(error).__name__}: {error}")
        self._failure.__cause__ = error
        for call in list(self._calls):
            call.set_exception(self._failure)
        self._failed(self._failure)

    def _report(self, callback: Callable[..., None], *arguments: Any) -> None:
        # The loop may be closed already when its owner did not close the store: then nobody listens.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


def _finish(done: Future[None]) -> None:
    if not done.done():
        done.set_result(None)
