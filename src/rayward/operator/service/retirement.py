"""When clusters that neither serve nor will serve may go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rayward.operator.service.member import Member
from rayward.operator.service.situation import Note, Rules


@dataclass(frozen=True, slots=True)
class Retirement:
    """What happens to the clusters that are left over."""

    notes: tuple[Note, ...] = ()
    delete: tuple[str, ...] = ()
    next_look: datetime | None = None


def decide(others: Iterable[Member], rules: Rules, now: datetime) -> Retirement:
    """A cluster that never took traffic goes at once; one that did stays for the delay, and until it is drained."""
    notes: list[Note] = []
    delete: list[str] = []
    looks: list[datetime] = []
    for member in others:
        if not member.promoted:
            delete.append(member.name)
        elif member.delete_at is None:
            notes.append(Note(member.name, delete_at=now + rules.deletion_delay))
            looks.append(now + rules.deletion_delay)
        elif now < member.delete_at:
            looks.append(member.delete_at)
        elif member.in_flight and now < member.delete_at + rules.drain_timeout:
            looks.append(member.delete_at + rules.drain_timeout)
        else:
            delete.append(member.name)
    return Retirement(tuple(notes), tuple(delete), min(looks, default=None))
