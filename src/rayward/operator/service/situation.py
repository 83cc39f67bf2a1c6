"""A service as one look at the world found it, and what may be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from rayward.operator.service.member import Member
from rayward.operator.service.verdict import Verdict

ABORTED: Final = "Aborted"
"""The reason of a change that the user gave up."""


@dataclass(frozen=True, slots=True)
class Release:
    """What belongs together: a cluster spec and the serve config made for it, by their hashes."""

    cluster_hash: str
    config: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a change ended, as the Progressing condition of this generation records it."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a service heals itself: never, unless the user set after how many seconds and how often."""

    unhealthy_after: timedelta | None = None
    new_clusters: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user's spec and annotations say about how to change."""

    in_place_only: bool = False
    """Upgrade strategy None: a changed cluster spec waits."""
    deletion_delay: timedelta = timedelta(seconds=60)
    progress_deadline: timedelta = timedelta(minutes=30)
    drain_timeout: timedelta = timedelta(minutes=10)
    initializing_timeout: timedelta | None = None
    paused: bool = False
    promote: str = ""
    abort: str = ""
    healing: Thresholds = field(default_factory=Thresholds)


@dataclass(frozen=True, slots=True)
class Situation:
    """A service and its clusters.

    ``goal`` is None while the spec is refused: what runs goes on. ``serving`` is the cluster to which the serve
    service's selector points, the one truth about traffic. ``failure`` is set when a change to this very
    generation has failed: no retry until the spec changes.
    """

    goal: Release | None
    rules: Rules
    members: Sequence[Member]
    serving: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What to remember of a member; None and False leave a thing as it is."""

    member: str
    config: str | None = None
    good_config: str | None = None
    promoted: bool = False
    delete_at: datetime | None = None
    keep: bool = False
    """Take away a planned deletion."""
    progress: str | None = None
    unhealthy_since: datetime | None = None
    healthy: bool = False
    """Take away the record of being unhealthy."""
    heals: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, in this order: notes, new cluster, traffic, deletions.

    The active and the pending cluster are always to be sent the config noted on them, if their Serve has another.
    """

    active: Member | None = None
    pending: Member | None = None
    notes: tuple[Note, ...] = ()
    create: Release | None = None
    heals: int = 0
    """Carried on by the created cluster, when it replaces an unhealthy one; then it is a copy of the active cluster."""
    redeploy: str = ""
    """The member whose applications start anew though their config is the same."""
    switch_to: str = ""
    delete: tuple[str, ...] = ()
    failure: Failure | None = None
    verdict: Verdict | None = None
    """Of the cluster on its way, else of the one that serves."""
    drifted: bool = False
    """The spec asks for another cluster than the strategy allows."""
    exhausted: bool = False
    """Healing was tried as often as allowed."""
    next_look: datetime | None = None
