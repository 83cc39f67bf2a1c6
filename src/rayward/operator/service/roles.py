"""Which cluster serves, which one is on its way to serve, and which are left over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from rayward.operator.service.member import Member
from rayward.operator.service.situation import Release, Situation

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Roles:
    """The clusters of a service that are not being deleted, by what they are for."""

    active: Member | None
    target: Member | None
    """The cluster of the goal: the active one, one on its way, or None where it has to be made."""
    goal: Release | None
    drifted: bool
    others: tuple[Member, ...]


def assign(situation: Situation, *, replace_active: bool = False) -> Roles:
    """Who is who. With ``replace_active`` the active cluster does not count as one of the goal."""
    live = [member for member in situation.members if not member.deleting]
    active = next((member for member in live if member.name == situation.serving), None)
    goal = situation.goal or _release_of(_newest(m for m in live if m is not active and not m.promoted) or active)
    drifted = False
    if goal and active and situation.rules.in_place_only and active.cluster_hash != goal.cluster_hash:
        goal, drifted = Release(active.cluster_hash, goal.config), True
    target = _of_goal(live, active, goal, replace_active=replace_active) if goal else active
    if situation.failure and active and not replace_active:
        target = active
    others = tuple(member for member in live if member is not active and member is not target)
    return Roles(active, target, goal, drifted, others)


def _of_goal(live: list[Member], active: Member | None, goal: Release, *, replace_active: bool) -> Member | None:
    if active and active.cluster_hash == goal.cluster_hash and not replace_active:
        return active
    return _newest(
        member
        for member in live
        if member is not active
        and member.cluster_hash == goal.cluster_hash
        and not (replace_active and not is_successor(member, active))
    )


def is_successor(member: Member, active: Member | None) -> bool:
    """Whether it may replace the active one: not one that served before it, though perhaps one that is about to."""
    begun = active.created or _LONG_AGO if active else _LONG_AGO
    return member.delete_at is None and (member.created or _LONG_AGO) >= begun


def _release_of(member: Member | None) -> Release | None:
    return Release(member.cluster_hash, member.config) if member else None


def _newest(members: Iterable[Member]) -> Member | None:
    return max(members, key=lambda member: (member.created or _LONG_AGO, member.name), default=None)
