"""How a service may change, as its spec and annotations say."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from rayward.kinds import labels
from rayward.kinds.rayservice import RayService
from rayward.operator.service.situation import Rules, Thresholds

PROGRESS_DEADLINE: Final = "rayward.dev/progress-deadline"
DRAIN_TIMEOUT: Final = "rayward.dev/drain-timeout"
PAUSE: Final = "rayward.dev/pause"
PROMOTE: Final = "rayward.dev/promote"
ABORT: Final = "rayward.dev/abort"

_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_LONGEST: Final = timedelta(days=365)
_DURATION: Final = re.compile(r"(?:(?:\d+(?:\.\d+)?)(?:ms|s|m|h))+", re.ASCII)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)


def duration(text: str) -> timedelta | None:
    """``30m``, ``1h30m`` or a whole number of seconds; None where it is neither, or not positive."""
    if len(text) > 32:
        return None
    if text.isascii() and text.isdigit():
        seconds = float(text)
    elif _DURATION.fullmatch(text):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    else:
        return None
    return min(timedelta(seconds=min(seconds, _LONGEST.total_seconds())), _LONGEST) if seconds > 0 else None


def rules_of(service: RayService) -> Rules:
    """The rules of a service; what is malformed counts as not given, and validation says so."""
    spec, meta = service.spec, service.metadata
    default = Rules()
    delay = spec.ray_cluster_deletion_delay_seconds
    unhealthy = spec.deployment_unhealthy_second_threshold
    return Rules(
        in_place_only=spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "None",
        deletion_delay=default.deletion_delay if delay is None else timedelta(seconds=max(delay, 0)),
        progress_deadline=duration(meta.annotation(PROGRESS_DEADLINE)) or default.progress_deadline,
        drain_timeout=duration(meta.annotation(DRAIN_TIMEOUT)) or default.drain_timeout,
        initializing_timeout=duration(meta.annotation(labels.INITIALIZING_TIMEOUT)),
        paused=meta.annotation(PAUSE) == "true",
        promote=meta.annotation(PROMOTE),
        abort=meta.annotation(ABORT),
        healing=Thresholds(
            unhealthy_after=None if unhealthy is None else timedelta(seconds=max(unhealthy, 0)),
            new_clusters=spec.deployment_unhealthy_restart_threshold or 0,
        ),
    )
