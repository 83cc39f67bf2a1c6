"""Many keys in parallel, each key serially."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Never, Protocol, TypeVar

from rayward.kube.client.errors import ApiError, Conflict
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.queue import QueueObserver, WorkQueue
from rayward.net.errors import NetworkError

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Result:
    """How the work on a key went; ``requeue_after`` asks for another run in so many seconds."""

    requeue_after: float | None = None


DONE = Result()


class WorkersObserver(Protocol):
    """Told of every run, for metrics."""

    @property
    def queue(self) -> QueueObserver:
        """Told of the queue."""
        ...

    def begun(self) -> None:
        """A worker took a key."""
        ...

    def ended(self, result: str, seconds: float) -> None:
        """It gave the key back: ``success``, ``requeue_after`` or ``error``."""
        ...


class Workers(Generic[K]):
    """Runs ``work`` for the keys of a queue, at most ``workers`` at once; failures come again later and later."""

    def __init__(
        self,
        name: str,
        work: Callable[[K], Awaitable[Result]],
        *,
        workers: int,
        observer: WorkersObserver | None = None,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._work = work
        self._workers = workers
        self._observer = observer
        self._clock = clock
        self._chance = chance
        self._queue: WorkQueue[K] = WorkQueue(observer=observer.queue if observer else None)
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Whether nothing is queued or running; delayed keys count as queued."""
        return len(self._queue) == 0 and self._queue.running == 0

    def add(self, key: K, *, after: float = 0.0, priority: int = 0) -> None:
        """Ask for a run of ``key``."""
        self._queue.add(key, self._clock.now(), after=after, priority=priority)
        self._changed.set()

    def hold(self, key: K, now: float) -> float | None:
        """Seconds that ``key`` should not run yet; None to run it."""
        return None

    async def run(self) -> Never:
        """Work until cancelled; then wait for the workers to stop."""
        try:
            while True:
                self._changed.clear()
                self._hand_out()
                await self._until_changed()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _hand_out(self) -> None:
        while len(self._tasks) < self._workers:
            now = self._clock.now()
            key = self._queue.pop(now)
            if key is None:
                return
            wait = self.hold(key, now)
            if wait is not None:
                self._queue.postpone(key, now, wait)
                continue
            task = asyncio.create_task(self._run_one(key))
            self._tasks.add(task)
            task.add_done_callback(self._finished)

    async def _until_changed(self) -> None:
        ready_in = None if len(self._tasks) >= self._workers else self._queue.ready_in(self._clock.now())
        if ready_in is None:
            await self._changed.wait()
            return
        try:
            await self._clock.within(ready_in, self._changed.wait())
        except TimeoutError:
            return

    async def _run_one(self, key: K) -> None:
        begun = self._clock.now()
        if self._observer:
            self._observer.begun()
        outcome = "error"
        try:
            result = await self._work(key)
            outcome = "success" if result.requeue_after is None else "requeue_after"
            self._queue.forget(key)
            if result.requeue_after is not None:
                self.add(key, after=result.requeue_after)
        except Conflict as error:
            _log.debug("%s %s: %s", self.name, key, error)
            self._fail(key)
        except (ApiError, NetworkError) as error:
            _log.warning("%s %s: %s", self.name, key, error)
            self._fail(key)
        except Exception:
            # The root of a worker's task: whatever went wrong with one key must not stop the others.
            _log.exception("%s %s failed", self.name, key)
            self._fail(key)
        finally:
            now = self._clock.now()
            self._queue.done(key, now)
            if self._observer:
                self._observer.ended(outcome, now - begun)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed.set()

    def _fail(self, key: K) -> None:
        self._queue.retry(key, self._clock.now(), chance=self._chance())
