"""What to do about an active cluster whose applications stay unhealthy: redeploy once, then new clusters, then stop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from rayward.operator.service.member import DEPLOY_FAILED, RUNNING, UNHEALTHY, Member
from rayward.operator.service.situation import Note, Rules


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


def decide(active: Member, rules: Rules, now: datetime, *, underway: bool = False) -> Healing:
    """The remedy for ``active``; nothing where the user set no threshold. ``underway``: its successor is being made."""
    thresholds = rules.healing
    if thresholds.unhealthy_after is None:
        return NOTHING
    health = _health(active)
    if active.unhealthy_since is None:
        if health is not _Health.BAD:
            return Healing(heals=active.heals)
        note = Note(active.name, unhealthy_since=now)
        return Healing(note=note, heals=active.heals, next_look=now + thresholds.unhealthy_after)
    if health is _Health.GOOD:
        return Healing(note=Note(active.name, healthy=True), heals=active.heals)
    due = active.unhealthy_since + thresholds.unhealthy_after
    if now < due:
        return Healing(heals=active.heals, next_look=due)
    if health is _Health.UNDECIDED and not underway:
        # A redeployment that hangs helps as little as one that fails.
        patience = active.unhealthy_since + max(thresholds.unhealthy_after, rules.progress_deadline)
        if not active.heals or now < patience:
            return Healing(heals=active.heals, next_look=patience if active.heals else None)
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


class _Health(Enum):
    GOOD = auto()
    BAD = auto()
    UNDECIDED = auto()
    """Serve is at work on it, or says nothing."""


def _health(member: Member) -> _Health:
    if member.serve is None or not member.serve.applications:
        return _Health.UNDECIDED
    states = {application.status for application in member.serve.applications}
    # Where applications that were unhealthy are started anew and fail again, Ray calls that a failed deployment; any
    # other failed deployment is that of a config, which is taken back instead.
    if UNHEALTHY in states or (member.unhealthy_since is not None and DEPLOY_FAILED in states):
        return _Health.BAD
    return _Health.GOOD if states == {RUNNING} else _Health.UNDECIDED
