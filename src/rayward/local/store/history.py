"""The recent events of all resources, and when they may be forgotten."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from rayward.local.store.record import Event
from rayward.local.store.settings import Retention


class History:
    """The committed events above ``compacted``, in order."""

    __slots__ = ("_events", "_times", "compacted", "superseded_bytes")

    compacted: int
    superseded_bytes: int

    def __init__(self, compacted: int) -> None:
        self.compacted = compacted
        self.superseded_bytes = 0
        self._events: deque[Event] = deque()
        # The time of a commit in milliseconds, and its last revision.
        self._times: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def add(self, events: Sequence[Event], at: int) -> None:
        """Remember events that were committed together."""
        self._events.extend(events)
        self._times.append((at, events[-1].revision))
        self.superseded_bytes += sum([event.superseded_bytes for event in events])

    def is_due(self, retention: Retention, now: int, spare: int) -> bool:
        """Whether it is time to forget: too many bytes, or at least ``spare`` events more than must stay."""
        if self.superseded_bytes > retention.superseded_bytes:
            return True
        return len(self._events) >= retention.events + spare and self._times[0][0] <= now - retention.seconds * 1000

    def may_forget(self, retention: Retention, now: int, most: int | None = None) -> int:
        """The highest mark that ``retention`` allows, if it is to forget no more than ``most`` events."""
        spare = len(self._events) - retention.events
        old = self._old_revision(int(now - retention.seconds * 1000), now)
        surplus = self.superseded_bytes - retention.superseded_bytes
        mark = self.compacted
        for position, event in enumerate(islice(self._events, most)):
            if surplus <= 0 and (position >= spare or event.revision > old):
                break
            mark = event.revision
            surplus -= event.superseded_bytes
        return mark

    def _old_revision(self, until: int, now: int) -> int:
        last = self.compacted
        for at, revision in self._times:
            # A time to come means that the clock was set back since; it says nothing, so the event counts as old.
            if until < at <= now:
                break
            last = revision
        return last

    def forget(self, mark: int) -> list[Event]:
        """Drop and return the events up to ``mark``."""
        gone: list[Event] = []
        while self._events and self._events[0].revision <= mark:
            gone.append(self._events.popleft())
        while self._times and self._times[0][1] <= mark:
            self._times.popleft()
        self.superseded_bytes -= sum([event.superseded_bytes for event in gone])
        self.compacted = mark
        return gone


def superseded_revisions(gone: Sequence[Event]) -> list[int]:
    """The lines of the log that nothing needs once the oldest events, ``gone``, are forgotten.

    The state at the mark is still needed, to undo later events from: a line goes when an event up to the mark replaced
    it, and a deletion also takes its own.
    """
    replaced = [event.previous.revision for event in gone if event.previous is not None]
    return sorted([*replaced, *(event.revision for event in gone if event.record is None)])
