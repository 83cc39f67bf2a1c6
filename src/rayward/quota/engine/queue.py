"""Who waits for one ClusterQueue, and in which order they are tried.

Workloads of one shape stand in one line: what holds for the first holds for all, so a line is put aside and taken back
whole. That is what keeps thousands of equal workloads cheap.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import Enum
from itertools import count

from rayward.quota.engine.item import Item, Shape

_Order = tuple[int, float, str]


class Requeue(Enum):
    """Why a workload that was tried goes back."""

    SKIPPED = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    INADMISSIBLE = ""
    PENDING_PREEMPTION = "PendingPreemption"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"


_AT_ONCE = (Requeue.SKIPPED, Requeue.PENDING_PREEMPTION)
_OF_ITS_SHAPE = (Requeue.NO_FIT, Requeue.NO_CANDIDATES)


class _Line:
    """Workloads of one shape, in order."""

    __slots__ = ("blocked", "heap", "message")

    def __init__(self) -> None:
        self.heap: list[tuple[_Order, int, Item]] = []
        self.blocked = False
        self.message = ""


class PendingQueue:
    """The workloads that wait for one ClusterQueue."""

    def __init__(self) -> None:
        self.strict = False
        """StrictFIFO: the first blocks all others."""
        self._items: dict[str, Item] = {}
        self._lines: dict[Shape, _Line] = {}
        self._heads: list[tuple[_Order, int, Shape, str]] = []
        """Lines that may be tried, by their first; entries that are no longer true are dropped when met."""
        self._ticket = count()
        """Keeps heaps from comparing what has no order."""
        self._parked: dict[str, Item] = {}
        """Those that wait for something other than quota: a time, a namespace, a check."""
        self._waiting: set[str] = set()
        """The parked ones that wait for a time, or for a word."""
        self.sticky = ""
        """The workload that others were evicted for."""

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items.values())

    def ordered(self) -> list[Item]:
        """All of them, in the order in which they would be tried."""
        return sorted(self._items.values(), key=lambda item: (item.key != self.sticky, item.order))

    def message_of(self, item: Item) -> str:
        """Why it waits, as far as it or one of its shape was tried."""
        line = self._lines.get(item.shape)
        return item.message or (line.message if line and line.blocked else "")

    def push(self, item: Item, *, may_try: bool = True) -> bool:
        """A workload is new or changed; returns whether there is something to try."""
        self.remove(item.key)
        self._items[item.key] = item
        if not may_try:
            self._parked[item.key] = item
            self._waiting.add(item.key)
            return False
        return self._line_up(item)

    def remove(self, key: str) -> Item | None:
        """A workload waits here no longer."""
        item = self._items.pop(key, None)
        self._parked.pop(key, None)
        self._waiting.discard(key)
        if self.sticky == key and item is not None:
            self.sticky = ""
        return item

    def get(self, key: str) -> Item | None:
        """The workload of that name, if it waits."""
        return self._items.get(key)

    def peek(self) -> Item | None:
        """The one to try next."""
        if self.sticky and (item := self._items.get(self.sticky)) and self._may_try(item):
            return item
        while self._heads:
            order, _, shape, key = self._heads[0]
            line = self._lines.get(shape)
            if line is not None and not line.blocked and (first := self._first(line)) is not None:
                if first.key == key and first.order == order:
                    return first
                heapq.heapreplace(self._heads, (first.order, next(self._ticket), shape, first.key))
                continue
            heapq.heappop(self._heads)
            if line is not None and not line.heap:
                del self._lines[shape]
        return None

    def requeue(self, item: Item, reason: Requeue) -> bool:
        """What becomes of the one that was tried; returns whether another may be tried now."""
        if item.key not in self._items:
            return True
        if self.strict:
            if reason is Requeue.NAMESPACE_MISMATCH:
                self._parked[item.key] = item
                return True
            return item.has_untried_flavors
        if reason is Requeue.PENDING_PREEMPTION:
            self.sticky = item.key
        if reason in _AT_ONCE:
            return False
        if item.has_untried_flavors:
            return True
        if reason in _OF_ITS_SHAPE:
            line = self._lines.get(item.shape)
            if line is not None:
                line.blocked, line.message = True, item.message
            return True
        self._parked[item.key] = item
        return True

    def retry(self) -> bool:
        """Something changed that may let a workload in; returns whether there is something to try."""
        for shape, line in self._lines.items():
            if line.blocked:
                line.blocked = False
                if (first := self._first(line)) is not None:
                    heapq.heappush(self._heads, (first.order, next(self._ticket), shape, first.key))
        for item in [item for item in self._parked.values() if item.key not in self._waiting]:
            del self._parked[item.key]
            self._line_up(item)
        return self.peek() is not None

    def _line_up(self, item: Item) -> bool:
        line = self._lines.get(item.shape)
        if line is None:
            line = self._lines[item.shape] = _Line()
        heapq.heappush(line.heap, (item.order, next(self._ticket), item))
        if line.blocked and not self.strict:
            return False
        line.blocked = False
        heapq.heappush(self._heads, (item.order, next(self._ticket), item.shape, item.key))
        return True

    def _may_try(self, item: Item) -> bool:
        line = self._lines.get(item.shape)
        return item.key not in self._parked and line is not None and not line.blocked

    def _first(self, line: _Line) -> Item | None:
        while line.heap:
            item = line.heap[0][2]
            if self._items.get(item.key) is item and item.key not in self._parked:
                return item
            heapq.heappop(line.heap)
        return None
