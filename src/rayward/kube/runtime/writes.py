"""What a controller wrote and its caches have not shown yet.

A decision made on a cache that lags behind its own last writes repeats them: a second pod for the one just made. So a
key waits until the caches have reached the versions of its writes. A collection's watch is ordered by version, so one
number per collection is enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from rayward.kube.core.objects import Key, KubeObject, version_number
from rayward.kube.runtime.cache import Cache

LONGEST_SECONDS = 30.0
"""A write that never shows, being outside of the cache's selector, must not hold its key for ever."""


class Writes:
    """The writes of one controller, by the key that wrote."""

    def __init__(self, released: Callable[[Key], None], *, longest_seconds: float = LONGEST_SECONDS) -> None:
        self._released = released
        self._longest = longest_seconds
        self._awaited: dict[Key, dict[Cache[Any], int]] = {}
        self._deadlines: dict[Key, float] = {}
        self._heaps: dict[Cache[Any], list[tuple[int, Key]]] = {}

    def wrote(self, writer: Key, cache: Cache[Any], answer: KubeObject, now: float) -> None:
        """The server answered a create, update, patch or delete with ``answer``."""
        version = version_number(answer.metadata.resource_version)
        # The watch is often faster than the answer.
        if version <= cache.version:
            return
        awaited = self._awaited.setdefault(writer, {})
        if version > awaited.get(cache, -1):
            awaited[cache] = version
            heapq.heappush(self._heap(cache), (version, writer))
        self._deadlines[writer] = now + self._longest

    def waits(self, writer: Key, now: float) -> float | None:
        """Seconds that ``writer`` should at most still wait; None when its caches show all it wrote."""
        if writer not in self._awaited:
            return None
        left = self._deadlines[writer] - now
        if left > 0:
            return left
        del self._awaited[writer], self._deadlines[writer]
        return None

    def _heap(self, cache: Cache[Any]) -> list[tuple[int, Key]]:
        if cache not in self._heaps:
            self._heaps[cache] = []
            cache.subscribe_version(lambda version: self._reached(cache, version))
        return self._heaps[cache]

    def _reached(self, cache: Cache[Any], version: int) -> None:
        heap = self._heaps[cache]
        while heap and heap[0][0] <= version:
            _, writer = heapq.heappop(heap)
            awaited = self._awaited.get(writer)
            if awaited is None or awaited.get(cache, -1) > version:
                continue
            awaited.pop(cache, None)
            if not awaited:
                del self._awaited[writer], self._deadlines[writer]
                self._released(writer)
