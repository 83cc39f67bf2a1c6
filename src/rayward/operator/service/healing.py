"""What to do about an active cluster whose applications stay unhealthy: redeploy once, then new clusters, then stop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rayward.operator.service.member import UNHEALTHY, Member
from rayward.operator.service.situation import Note, Thresholds


@dataclass(frozen=True, slots=True)
class Healing:
    """The next remedy, if one is due. ``heals`` counts those already given, the redeployment as the first."""

    note: Note | None = None
    redeploy: bool = False
    replace: bool = False
    exhausted: bool = False
    heals: int = 0
    next_look: datetime | None = None


NOTHING = Healing()


def decide(active: Member, thresholds: Thresholds, now: datetime) -> Healing:
    """The remedy for ``active``; nothing where the user set no threshold."""
    if thresholds.unhealthy_after is None:
        return NOTHING
    if not _unhealthy(active):
        note = Note(active.name, healthy=True) if active.unhealthy_since else None
        return Healing(note=note, heals=active.heals)
    if active.unhealthy_since is None:
        return Healing(
            note=Note(active.name, unhealthy_since=now), heals=active.heals, next_look=now + thresholds.unhealthy_after
        )
    due = active.unhealthy_since + thresholds.unhealthy_after
    if now < due:
        return Healing(heals=active.heals, next_look=due)
    if active.heals == 0:
        return Healing(
            note=Note(active.name, unhealthy_since=now, heals=1),
            redeploy=True,
            heals=1,
            next_look=now + thresholds.unhealthy_after,
        )
    if active.heals > thresholds.new_clusters:
        return Healing(exhausted=True, heals=active.heals)
    return Healing(replace=True, heals=active.heals + 1)


def _unhealthy(member: Member) -> bool:
    return member.serve is not None and any(app.status == UNHEALTHY for app in member.serve.applications)
