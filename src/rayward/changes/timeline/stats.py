"""How changes went: lead time, change failure rate, time to restore; pure, from revisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from rayward.changes.revisions import Revision
from rayward.kube.core.meta import parse_time
from rayward.kube.machinery.jsonvalue import Object


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


def stats_of(histories: Iterable[Sequence[Revision]]) -> Stats:
    """Of the histories of several objects, each the oldest first."""
    leads: list[float] = []
    restores: list[float] = []
    changes = failed = 0
    for revisions in histories:
        broken_at = None
        for one in revisions:
            if one.result not in ("Applied", "Failed"):
                continue
            changes += 1
            ended = parse_time(one.changed_at) + timedelta(seconds=one.seconds) if one.changed_at else None
            if one.result == "Failed":
                failed += 1
                broken_at = broken_at or ended
                continue
            leads.append(one.seconds)
            if broken_at is not None and ended is not None:
                restores.append(max((ended - broken_at).total_seconds(), 0.0))
            broken_at = None
    return Stats(changes, failed, median(leads) if leads else None, median(restores) if restores else None)
