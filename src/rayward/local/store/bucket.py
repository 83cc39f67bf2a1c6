"""The keys and events of one resource, so that no list looks at another one's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from rayward.local.store.record import Event

_AFTER_SLASH: Final = "0"
_SLICES: Final = 64
_revision = attrgetter("revision")


class Bucket:
    """All keys that begin with one ``/resource/``, in order, and their recent events, in order."""

    __slots__ = ("_events", "_order", "_slices")

    def __init__(self) -> None:
        self._order: list[str] = []
        self._slices: dict[str, tuple[str, ...]] = {}
        self._events: list[Event] = []

    def load(self, event: Event) -> None:
        """Remember an event while loading; ``set_keys`` tells the keys in the end."""
        self._events.append(event)

    def set_keys(self, keys: Iterable[str]) -> None:
        """Set all keys at once; they come in order."""
        self._order = list(keys)
        self._slices.clear()

    def add(self, event: Event) -> None:
        """Remember a committed event."""
        self._events.append(event)
        if event.previous is None:
            insort(self._order, event.key)
            self._slices.clear()
        elif event.record is None:
            del self._order[bisect_left(self._order, event.key)]
            self._slices.clear()

    def forget(self, mark: int) -> None:
        """Drop the events up to ``mark``."""
        del self._events[: bisect_right(self._events, mark, key=_revision)]

    def keys(self, prefix: str) -> tuple[str, ...]:
        """The keys that begin with ``prefix``, in order; the same object as long as none came or went."""
        keys = self._slices.get(prefix)
        if keys is None:
            first, end = self._range(prefix)
            if len(self._slices) >= _SLICES:
                self._slices.clear()
            keys = self._slices[prefix] = tuple(self._order[first:end])
        return keys

    def count(self, prefix: str) -> int:
        """How many keys begin with ``prefix``."""
        first, end = self._range(prefix)
        return end - first

    def events(self, since: int, prefix: str) -> Sequence[Event]:
        """The events above ``since`` whose key begins with ``prefix``."""
        events = self._events[bisect_right(self._events, since, key=_revision) :]
        if prefix.find("/", 1) == len(prefix) - 1:
            return events
        return [event for event in events if event.key.startswith(prefix)]

    def _range(self, prefix: str) -> tuple[int, int]:
        return bisect_left(self._order, prefix), bisect_left(self._order, prefix[:-1] + _AFTER_SLASH)


def bucket_name(path: str) -> str:
    """The first segment of a key.

    Raises:
        ValueError: it has none, as in ``/`` or ``/pods``.
    """
    end = path.find("/", 1)
    if end < 2 or path[0] != "/":
        raise ValueError(f"{path!r} does not begin with a resource, as in /pods/default/web-1")
    return path[1:end]


def prefix_name(prefix: str) -> str:
    """The first segment of a prefix, which must end where a segment ends.

    Raises:
        ValueError: it does not, as in ``/pods/def``.
    """
    if not prefix.endswith("/"):
        raise ValueError(f"{prefix!r} does not end with a slash")
    return bucket_name(prefix)
