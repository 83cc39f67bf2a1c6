"""Workers that make objects true."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.queue import LOW
from rayward.kube.runtime.workers import DONE, Result, Workers, WorkersObserver
from rayward.kube.runtime.writes import Writes

__all__ = ["DONE", "Controller", "Reconcile", "Result"]

T = TypeVar("T", bound=KubeObject)

Reconcile = Callable[[Key], Awaitable[Result]]


class Controller(Workers[Key]):
    """Runs ``reconcile`` for the keys of objects.

    A reconciler reports what it wrote with ``wrote``; its key is not run again before the caches show that.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        workers: int = 32,
        observer: WorkersObserver | None = None,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(name, reconcile, workers=workers, observer=observer, clock=clock, chance=chance)
        self._writes = Writes(self.add)

    def watch(
        self,
        cache: Cache[T],
        keys: Callable[[T | None, T | None], Iterable[Key]] | None = None,
        priority: Callable[[Key], int] | None = None,
    ) -> None:
        """Run keys when ``cache`` changes.

        Args:
            cache: What is watched.
            keys: The keys to run for a change from old to new; without it the object's own.
            priority: The place of a key in the queue. Changes of a first list come last, whatever it says.
        """
        mapped = keys or _own_key

        def listener(old: T | None, new: T | None) -> None:
            for key in mapped(old, new):
                self.add(key, priority=LOW if not cache.synced else priority(key) if priority else 0)

        cache.subscribe(listener)

    def wrote(self, writer: Key, cache: Cache[Any], answer: KubeObject) -> None:
        """The reconcile of ``writer`` wrote an object of ``cache`` and was answered ``answer``.

        Deletions count too: the answer carries the version of the deletion, or is a Status, which is not waited for.
        """
        self._writes.wrote(writer, cache, answer, self._clock.now())

    def hold(self, key: Key, now: float) -> float | None:
        """Keys wait for their own writes."""
        return self._writes.waits(key, now)


def _own_key(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
    found = new or old
    return () if found is None else (found.metadata.key,)
