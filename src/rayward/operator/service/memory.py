"""What a cluster of a service remembers in its annotations, so that it outlives the operator."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rayward.kube.core.meta import parse_time, rfc3339_micro
from rayward.operator.service.situation import Note

CONFIG: Final = "rayward.dev/serve-config"
"""The serve config that the cluster is to run, as JSON for Ray."""
GOOD_CONFIG: Final = "rayward.dev/serve-config-running"
"""The last config whose applications were all RUNNING, to go back to."""
PROMOTED: Final = "rayward.dev/promoted"
DELETE_AT: Final = "rayward.dev/delete-at"
PROGRESS: Final = "rayward.dev/progress"
PROGRESSED_AT: Final = "rayward.dev/progressed-at"
UNHEALTHY_SINCE: Final = "rayward.dev/unhealthy-since"
HEALS: Final = "rayward.dev/heals"
REPLICAS: Final = "rayward.dev/replicas"
"""The ``replicas`` of each group as the user's spec last gave them to this cluster."""


def config_hash(text: str) -> str:
    """A short name for a config; empty for none."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered; damaged entries count as none."""

    config: str = ""
    good_config: str = ""
    promoted: bool = False
    delete_at: datetime | None = None
    progress: str = ""
    progressed_at: datetime | None = None
    unhealthy_since: datetime | None = None
    heals: int = 0


def remembered(annotations: Mapping[str, str]) -> Memory:
    """What a RayCluster's annotations say."""
    heals = annotations.get(HEALS, "")
    return Memory(
        config=annotations.get(CONFIG, ""),
        good_config=annotations.get(GOOD_CONFIG, ""),
        promoted=annotations.get(PROMOTED) == "true",
        delete_at=_time(annotations.get(DELETE_AT)),
        progress=annotations.get(PROGRESS, ""),
        progressed_at=_time(annotations.get(PROGRESSED_AT)),
        unhealthy_since=_time(annotations.get(UNHEALTHY_SINCE)),
        heals=int(heals) if heals.isascii() and heals.isdigit() else 0,
    )


def written(note: Note, texts: Mapping[str, str], now: datetime) -> dict[str, str | None]:
    """The annotations that make a note remembered; None takes one away. ``texts`` gives each config by its hash."""
    changes: dict[str, str | None] = {}
    if note.config is not None:
        changes[CONFIG] = texts[note.config]
        changes[PROGRESSED_AT] = rfc3339_micro(now)
    if note.good_config is not None:
        changes[GOOD_CONFIG] = texts[note.good_config]
    if note.promoted:
        changes[PROMOTED] = "true"
    if note.keep:
        changes[DELETE_AT] = None
    if note.delete_at is not None:
        changes[DELETE_AT] = rfc3339_micro(note.delete_at)
    if note.progress is not None:
        changes[PROGRESS] = note.progress
        changes[PROGRESSED_AT] = rfc3339_micro(now)
    if note.healthy:
        changes[UNHEALTHY_SINCE] = None
    if note.unhealthy_since is not None:
        changes[UNHEALTHY_SINCE] = rfc3339_micro(note.unhealthy_since)
    if note.heals is not None:
        changes[HEALS] = str(note.heals)
    return changes


def _time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None
