"""What a server promised to those who wrote and watched, and whether it kept its word. Pure bookkeeping, no I/O."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

ABSENT = ""
"""The tag of an object that is not there."""


class Seen(NamedTuple):
    """One event as a watcher saw it; every write puts a tag of its own into its object."""

    kind: str
    name: str
    tag: str
    revision: int


@dataclass
class Promises:
    """Acknowledged writes to objects that have one writer each, so that their order is known."""

    kept: dict[str, str] = field(default_factory=dict[str, str])
    """Name to the tag last acknowledged; ABSENT after a deletion."""
    open: dict[str, str] = field(default_factory=dict[str, str])
    """Name to the tag of the write in flight: it may be done or not."""
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    """Tag to the revision it was acknowledged with; deletions are told none."""
    acknowledged: int = 0

    def send(self, name: str, tag: str) -> None:
        """A write goes out."""
        self.open[name] = tag

    def acknowledge(self, name: str, tag: str, revision: int | None) -> None:
        """Its answer came."""
        del self.open[name]
        self.kept[name] = tag
        self.acknowledged += 1
        if revision is not None:
            self.revisions[tag] = revision

    def settle(self, found: Mapping[str, str]) -> list[str]:
        """What is broken about the state a new process shows; from here on that state counts."""
        broken: list[str] = []
        for name in sorted({*self.kept, *self.open, *found}):
            promised, tag = self.kept.get(name, ABSENT), found.get(name, ABSENT)
            if tag not in (promised, self.open.get(name, promised)):
                broken.append(f"{name} should be {promised!r} or {self.open.get(name)!r} and is {tag!r}")
        self.kept = {name: found.get(name, ABSENT) for name in {*self.kept, *found}}
        self.open.clear()
        return broken


def faults(watched: Sequence[Seen], promises: Promises, final: Mapping[str, str]) -> list[str]:
    """What is wrong with all that one watcher saw from the very beginning to the end."""
    broken = [
        f"{later} came after {earlier}"
        for earlier, later in itertools.pairwise(watched)
        if later.revision <= earlier.revision
    ]
    state: dict[str, str] = {}
    for event in watched:
        if (event.kind == "ADDED") == (event.name in state):
            broken.append(f"{event} when the object was {state.get(event.name, ABSENT)!r}")
        if event.kind == "DELETED":
            state.pop(event.name, None)
        else:
            state[event.name] = event.tag
    if state != final:
        broken.append(f"the events end in another state: {_difference(state, final)}")
    seen = {event.tag: event.revision for event in watched if event.kind != "DELETED"}
    broken += [
        f"{tag!r} was acknowledged at {revision} and seen at {seen.get(tag)}"
        for tag, revision in promises.revisions.items()
        if seen.get(tag) != revision
    ]
    return broken


def reused(facts: Iterable[tuple[int, str]]) -> list[str]:
    """Revisions that stand for two different things; a fact is a revision and what it was given to."""
    given: dict[int, str] = {}
    return [
        f"revision {revision} is {given[revision]} and {what}"
        for revision, what in facts
        if given.setdefault(revision, what) != what
    ]


def _difference(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return ", ".join(f"{name}: {one.get(name)!r}, not {other.get(name)!r}" for name in names[:5])
