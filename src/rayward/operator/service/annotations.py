"""What is remembered in annotations of RayClusters, so that it outlives the operator: read and written here only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from rayward.kinds import labels
from rayward.kinds.durations import duration
from rayward.kube.core.meta import parse_time, rfc3339_micro
from rayward.operator.service.serveconfig import Surge, Surges
from rayward.operator.service.state import AnnotationChange


@dataclass(frozen=True, slots=True)
class ClusterAnnotations:
    """What a RayCluster's annotations say; a malformed value counts as none."""

    config: str = ""
    good_config: str = ""
    promoted: bool = False
    delete_at: datetime | None = None
    progress: str = ""
    progressed_at: datetime | None = None
    unhealthy_since: datetime | None = None
    deserted_since: datetime | None = None
    started_in: timedelta | None = None
    surges: Mapping[str, Surges] = field(default_factory=dict[str, Surges])
    remedies: int = 0
    rolled_generation: int = 0
    resized_generation: int = 0
    refreshed: str = ""
    """The value of ``restartedAt`` for which the config was last sent."""


def read_annotations(annotations: Mapping[str, str]) -> ClusterAnnotations:
    """The annotations of a RayCluster."""
    return ClusterAnnotations(
        config=annotations.get(labels.SERVE_CONFIG, ""),
        good_config=annotations.get(labels.SERVE_CONFIG_RUNNING, ""),
        promoted=annotations.get(labels.PROMOTED) == "true",
        delete_at=_time(annotations.get(labels.DELETE_AT)),
        progress=annotations.get(labels.PROGRESS, ""),
        progressed_at=_time(annotations.get(labels.PROGRESSED_AT)),
        unhealthy_since=_time(annotations.get(labels.UNHEALTHY_SINCE)),
        deserted_since=_time(annotations.get(labels.DESERTED_SINCE)),
        started_in=duration(annotations.get(labels.STARTED_IN, "")),
        surges=_surges(annotations.get(labels.SURGES, "")),
        remedies=_number(annotations.get(labels.REMEDIES, "")),
        rolled_generation=_number(annotations.get(labels.ROLLED_GENERATION, "")),
        resized_generation=_number(annotations.get(labels.RESIZED_GENERATION, "")),
        refreshed=annotations.get(labels.RESTARTED_AT, ""),
    )


def annotation_patch(change: AnnotationChange, configs: Mapping[str, str], now: datetime) -> dict[str, str | None]:
    """The merge patch of annotations for ``change``; ``configs`` has the text of each config by its hash."""
    result: dict[str, str | None] = {}
    if change.config is not None:
        result[labels.SERVE_CONFIG] = configs[change.config]
        result[labels.PROGRESSED_AT] = rfc3339_micro(now)
    if change.good_config is not None:
        result[labels.SERVE_CONFIG_RUNNING] = configs[change.good_config]
    if change.promoted:
        result[labels.PROMOTED] = "true"
    if change.keep:
        result[labels.DELETE_AT] = None
    if change.delete_at is not None:
        result[labels.DELETE_AT] = rfc3339_micro(change.delete_at)
    if change.progress is not None:
        result[labels.PROGRESS] = change.progress
        result[labels.PROGRESSED_AT] = rfc3339_micro(now)
    if change.healthy:
        result[labels.UNHEALTHY_SINCE] = None
    if change.unhealthy_since is not None:
        result[labels.UNHEALTHY_SINCE] = rfc3339_micro(change.unhealthy_since)
    if change.answered:
        result[labels.DESERTED_SINCE] = None
    if change.deserted_since is not None:
        result[labels.DESERTED_SINCE] = rfc3339_micro(change.deserted_since)
    if change.started_in is not None:
        result[labels.STARTED_IN] = f"{math.ceil(change.started_in.total_seconds())}s"
    if change.surges is not None:
        surges = {config: sorted(map(list, found)) for config, found in change.surges.items() if found}
        result[labels.SURGES] = json.dumps(surges, sort_keys=True) if surges else None
    if change.remedies is not None:
        result[labels.REMEDIES] = str(change.remedies)
    return result


def _surges(text: str) -> dict[str, Surges]:
    try:
        found = msgspec.json.decode(text, type=dict[str, frozenset[Surge]]) if text else {}
    except msgspec.MsgspecError:
        return {}
    return found


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None
