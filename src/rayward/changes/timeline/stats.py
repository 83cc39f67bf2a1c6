"""How changes went: lead time, change failure rate, time to restore; pure, from revisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Final

from rayward.changes.revisions import FAILED, Revision
from rayward.kube.core.meta import parse_time
from rayward.kube.machinery.jsonvalue import Object

TEAM: Final = "team"
"""The label that names an object's team, unless another one is chosen."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Of one object, or of a team.

    Attributes:
        changes: Generations whose end is known.
        failed: Those that failed.
        lead_seconds: From when a generation was asked for until it was true, the median; None without any.
        restore_seconds: From the end of a failed generation until the next one was true, the median.
    """

    changes: int = 0
    failed: int = 0
    lead_seconds: float | None = None
    restore_seconds: float | None = None

    @property
    def failure_rate(self) -> float:
        """Of all changes, between 0 and 1."""
        return self.failed / self.changes if self.changes else 0.0

    def document(self) -> Object:
        return {
            "changes": self.changes,
            "failed": self.failed,
            "failureRate": round(self.failure_rate, 4),
            "leadSeconds": self.lead_seconds,
            "restoreSeconds": self.restore_seconds,
        }


@dataclass(frozen=True, slots=True)
class Subject:
    """What statistics are of: ``rayservice/shop``, ``team/search`` or ``namespace/shops``."""

    name: str
    stats: Stats


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of one generation.

    Attributes:
        revision: Which one.
        failed: Whether it failed.
        restored_seconds: Where it is the first that was true after one that failed, since that one's end.
    """

    revision: Revision
    failed: bool
    restored_seconds: float | None = None


def endings(revisions: Iterable[Revision]) -> Iterator[Ended]:
    """The generations of one object whose end is known, the oldest first."""
    broken_at = None
    for one in revisions:
        if one.result not in ("Applied", FAILED):
            continue
        ended = parse_time(one.changed_at) + timedelta(seconds=one.seconds) if one.changed_at else None
        if one.result == FAILED:
            broken_at = broken_at or ended
            yield Ended(one, failed=True)
            continue
        down = max((ended - broken_at).total_seconds(), 0.0) if broken_at is not None and ended is not None else None
        broken_at = None
        yield Ended(one, failed=False, restored_seconds=down)


def stats_of(histories: Iterable[Sequence[Revision]]) -> Stats:
    """Of the histories of several objects, each the oldest first."""
    ended = [one for revisions in histories for one in endings(revisions)]
    leads = [one.revision.seconds for one in ended if not one.failed]
    restores = [one.restored_seconds for one in ended if one.restored_seconds is not None]
    failed = sum(one.failed for one in ended)
    return Stats(len(ended), failed, median(leads) if leads else None, median(restores) if restores else None)


def by_team(histories: Mapping[str, tuple[str, Sequence[Revision]]], namespace: str) -> tuple[Subject, ...]:
    """Of each object, then of each team; objects without one count for their namespace.

    Args:
        histories: By object: its team, or nothing, and its revisions.
        namespace: Where they are.
    """
    teams: dict[str, list[Sequence[Revision]]] = {}
    for team, revisions in histories.values():
        teams.setdefault(f"team/{team}" if team else f"namespace/{namespace}", []).append(revisions)
    teams = teams or {f"namespace/{namespace}": []}
    objects = (Subject(name, stats_of([revisions])) for name, (_, revisions) in histories.items())
    return (*objects, *(Subject(name, stats_of(found)) for name, found in sorted(teams.items())))
