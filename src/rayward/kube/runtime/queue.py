"""Which key to work on next."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

import msgspec

from rayward.kube.runtime.backoff import Backoff

K = TypeVar("K", bound=Hashable)

BACKOFF = Backoff(0.05, 60.0)
LOW = -100
"""The priority of what nobody is waiting for: the first list, resyncs."""
HIGH = 100
"""The priority of what is nearly done: in a burst most objects are then finished long before the last one is begun."""


class QueueObserver(Protocol):
    """Told what happens in a queue, for metrics."""

    def added(self) -> None:
        """A key came in."""
        ...

    def started(self, waited: float) -> None:
        """A key was handed out after waiting so long since it was ready."""
        ...

    def finished(self, worked: float) -> None:
        """A key was given back after so long."""
        ...

    def retried(self) -> None:
        """A key came in after a failure."""
        ...


class _Entry(msgspec.Struct, gc=False):
    priority: int
    ready_at: float
    number: int
    """Which heap item speaks for the entry; older ones are stale."""


class WorkQueue(Generic[K]):
    """Each key at most once, with one worker at a time; times are the caller's, in seconds.

    A key that is added again while it waits keeps the higher priority and the earlier time: reconciling looks at
    everything, so one run serves all who asked. A key that is added while a worker has it runs again afterwards.
    """

    def __init__(self, backoff: Backoff = BACKOFF, observer: QueueObserver | None = None) -> None:
        self._backoff = backoff
        self._observer = observer
        self._entries: dict[K, _Entry] = {}
        self._ready: list[tuple[int, int, K]] = []
        self._delayed: list[tuple[float, int, K]] = []
        self._running: dict[K, tuple[float, int]] = {}
        """Since when, and with which priority."""
        self._failures: dict[K, int] = {}
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def running(self) -> int:
        """How many keys workers have."""
        return len(self._running)

    def add(self, key: K, now: float, *, after: float = 0.0, priority: int = 0) -> None:
        """Ask for a run of ``key``, in ``after`` seconds."""
        ready_at = now + max(after, 0.0)
        entry = self._entries.get(key)
        if entry is not None:
            if priority <= entry.priority and ready_at >= entry.ready_at:
                return
            priority, ready_at = max(priority, entry.priority), min(ready_at, entry.ready_at)
        elif self._observer is not None:
            self._observer.added()
        self._numbers += 1
        self._entries[key] = fresh = _Entry(priority, ready_at, self._numbers)
        if key not in self._running:
            self._push(key, fresh, now)

    def retry(self, key: K, now: float, *, chance: float = 0.5, priority: int = 0) -> float:
        """Ask for a run after a failure, later each time; says how much later."""
        failures = self._failures.get(key, 0) + 1
        self._failures[key] = failures
        wait = self._backoff.after(failures, chance)
        if self._observer is not None:
            self._observer.retried()
        self.add(key, now, after=wait, priority=priority)
        return wait

    def forget(self, key: K) -> None:
        """The key did well: its next failure is its first."""
        self._failures.pop(key, None)

    def pop(self, now: float) -> K | None:
        """The key to work on: the highest priority, then the longest ready. Give it back with ``done``."""
        self._promote(now)
        while self._ready:
            _, number, key = heapq.heappop(self._ready)
            entry = self._entries.get(key)
            if entry is None or entry.number != number:
                continue
            del self._entries[key]
            self._running[key] = now, entry.priority
            if self._observer is not None:
                self._observer.started(now - entry.ready_at)
            return key
        return None

    def done(self, key: K, now: float) -> None:
        """The worker has finished; if the key was added meanwhile, it is up again."""
        begun, _ = self._running.pop(key)
        if self._observer is not None:
            self._observer.finished(now - begun)
        entry = self._entries.get(key)
        if entry is not None:
            self._push(key, entry, now)

    def postpone(self, key: K, now: float, after: float) -> None:
        """Give a key back that must not run for ``after`` seconds; it keeps its priority."""
        _, priority = self._running[key]
        self.add(key, now, after=after, priority=priority)
        self.done(key, now)

    def ready_in(self, now: float) -> float | None:
        """Seconds until ``pop`` may give a key; None when only an ``add`` or a ``done`` can change that."""
        self._promote(now)
        while self._ready and not self._speaks(self._ready[0][1], self._ready[0][2]):
            heapq.heappop(self._ready)
        if self._ready:
            return 0.0
        while self._delayed and not self._speaks(self._delayed[0][1], self._delayed[0][2]):
            heapq.heappop(self._delayed)
        return self._delayed[0][0] - now if self._delayed else None

    def _speaks(self, number: int, key: K) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.number == number

    def _push(self, key: K, entry: _Entry, now: float) -> None:
        if entry.ready_at > now:
            heapq.heappush(self._delayed, (entry.ready_at, entry.number, key))
        else:
            heapq.heappush(self._ready, (-entry.priority, entry.number, key))

    def _promote(self, now: float) -> None:
        while self._delayed and self._delayed[0][0] <= now:
            _, number, key = heapq.heappop(self._delayed)
            if self._speaks(number, key):
                heapq.heappush(self._ready, (-self._entries[key].priority, number, key))
