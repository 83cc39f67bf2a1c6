"""Many like events become few: what client-go's event correlator does, decided without I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from rayward.kube.client.ratelimit import TokenBucket
from rayward.kube.core.event import ObjectReference

V = TypeVar("V")

_ENTRIES: Final = 4096
_SIMILAR: Final = 10
_SIMILAR_SECONDS: Final = 600.0
_SPAM_BURST: Final = 25
_SPAM_RATE: Final = 1 / 300


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to tell about an object."""

    about: ObjectReference
    type: str
    reason: str
    message: str
    component: str = ""
    """Who tells it."""
    decision: bool = False
    """Whether it is kept as it is: few of these are recorded, and each one counts."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What to write; equal slots are one Event with a count."""

    slot: tuple[str, ...]
    happening: Happening


class _Recent(Generic[V]):
    """What was used last; the rest is forgotten."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._entries: OrderedDict[Hashable, V] = OrderedDict()

    def __getitem__(self, key: Hashable) -> V:
        entry = self._entries.pop(key, None)
        if entry is None:
            entry = self._make()
        self._entries[key] = entry
        if len(self._entries) > _ENTRIES:
            self._entries.popitem(last=False)
        return entry


class _Similar:
    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.at = 0.0


class Folder:
    """Drops what is recorded too often of one object for one reason, and joins what differs only in its message."""

    def __init__(self) -> None:
        self._buckets = _Recent(lambda: TokenBucket(_SPAM_RATE, _SPAM_BURST))
        self._similar = _Recent(_Similar)

    def fold(self, happening: Happening, now: float) -> Folded | None:
        """What to write for ``happening``: it, a joined one, or nothing."""
        about = happening.about
        whose = (
            about.api_version,
            about.kind,
            about.namespace,
            about.name,
            about.uid,
            happening.type,
            happening.component,
        )
        group = (*whose, happening.reason)
        if happening.decision:
            return Folded((*group, about.field_path, happening.message), happening)
        # client-go's budget is one per object; then what comes often costs the events of rare and weighty decisions.
        if not self._buckets[group].try_take(now):
            return None
        similar = self._similar[group]
        if now - similar.at > _SIMILAR_SECONDS:
            similar.messages.clear()
        similar.at = now
        similar.messages.add(happening.message)
        if len(similar.messages) < _SIMILAR:
            return Folded((*group, about.field_path, happening.message), happening)
        similar.messages.discard(happening.message)
        joined = replace(happening, message=f"(combined from similar events): {happening.message}")
        return Folded(group, joined)
