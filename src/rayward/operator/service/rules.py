"""How a service may change, as its spec and annotations say."""

from __future__ import annotations

from datetime import timedelta

from rayward.kinds import labels
from rayward.kinds.durations import duration
from rayward.kinds.rayservice import RayService
from rayward.operator.service.situation import Rules, Thresholds


def rules_of(service: RayService) -> Rules:
    """The rules of a service; what is malformed counts as not given, and validation says so."""
    spec, meta = service.spec, service.metadata
    default = Rules()
    delay = spec.ray_cluster_deletion_delay_seconds
    unhealthy = spec.deployment_unhealthy_second_threshold
    return Rules(
        in_place_only=spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "None",
        deletion_delay=default.deletion_delay if delay is None else timedelta(seconds=max(delay, 0)),
        progress_deadline=duration(meta.annotation(labels.PROGRESS_DEADLINE)) or default.progress_deadline,
        drain_timeout=duration(meta.annotation(labels.DRAIN_TIMEOUT)) or default.drain_timeout,
        initializing_timeout=duration(meta.annotation(labels.INITIALIZING_TIMEOUT)),
        paused=meta.annotation(labels.PAUSE) == "true",
        promote=meta.annotation(labels.PROMOTE),
        abort=meta.annotation(labels.ABORT),
        healing=Thresholds(
            unhealthy_after=None if unhealthy is None else timedelta(seconds=max(unhealthy, 0)),
            new_clusters=spec.deployment_unhealthy_restart_threshold or 0,
        ),
    )
