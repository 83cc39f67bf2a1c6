"""What a RayService asks for: a release and how to get there, or why its spec is rejected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.durations import duration
from rayward.kinds.effects import code_of
from rayward.kinds.hashing import release_hash
from rayward.kinds.rayservice import RayService
from rayward.kinds.validation import (
    FEATURE_MISSING,
    Problem,
    listed,
    only_lacks_features,
    service_problems,
    service_warnings,
)
from rayward.kinds.validation.service import CONFIG_PATHS, serve_config
from rayward.operator.service.serveconfig import config_hash, user_configs
from rayward.operator.service.state import Failure, Healing, Policy, Release

_AUTOSCALING: Final = timedelta(minutes=3)
"""A node that the autoscaler adds takes this long to join, at times."""


@dataclass(frozen=True, slots=True)
class Desired:
    """A release and the text of its config; without a release, why the spec is rejected."""

    release: Release | None = None
    config: str = ""
    rejected: Failure | None = None
    warnings: tuple[tuple[str, str], ...] = ()
    """Reason and message of what works otherwise than it seems."""


def desired_of(service: RayService) -> Desired:
    """Read and validate the whole spec."""
    warnings = tuple((_reason(warning), str(warning)) for warning in service_warnings(service))
    problems = service_problems(service)
    if problems:
        reason = FEATURE_MISSING if only_lacks_features(problems) else "ValidationFailed"
        return Desired(rejected=Failure(reason, listed(problems)), warnings=warnings)
    config = serve_config(service.spec)
    text = msgspec.json.encode(config.payload, order="deterministic").decode()
    cluster_hash = release_hash(service.spec.ray_cluster_config)
    code, settings = code_of(config.applications), user_configs(text)
    return Desired(Release(cluster_hash, config_hash(text), code, settings), text, None, warnings)


def _reason(warning: Problem) -> str:
    return "ServeConfigWarning" if warning.path in CONFIG_PATHS else "UnexpectedRayServiceSpec"


def policy_of(service: RayService, queueing: Queueing = NO_QUEUES) -> Policy:
    """How it may change; a malformed value counts as not given, and validation reports it."""
    spec, meta = service.spec, service.metadata
    default = Policy()
    delay = spec.ray_cluster_deletion_delay_seconds
    unhealthy = spec.deployment_unhealthy_second_threshold
    in_place_only = spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "None"
    config_upgrade = meta.annotation(labels.SERVE_CONFIG_UPGRADE)
    return Policy(
        in_place_only=in_place_only,
        rolls_workers=in_place_only and meta.annotation(labels.ROLLING_UPDATE) == "workers",
        new_cluster_for_config=not in_place_only and config_upgrade == "NewCluster",
        code_in_place=in_place_only or config_upgrade == "InPlace",
        reconfigures=config_upgrade == "InPlace",
        deletion_delay=default.deletion_delay if delay is None else timedelta(seconds=max(delay, 0)),
        progress_deadline=duration(meta.annotation(labels.PROGRESS_DEADLINE)) or default.progress_deadline,
        drain_timeout=duration(meta.annotation(labels.DRAIN_TIMEOUT)) or default.drain_timeout,
        initializing_timeout=duration(meta.annotation(labels.INITIALIZING_TIMEOUT)),
        scheduling_timeout=duration(meta.annotation(labels.SCHEDULING_TIMEOUT)) or _scheduling_timeout(service),
        start_timeout=duration(meta.annotation(labels.REPLICA_START_TIMEOUT)),
        wait_for_workers=meta.annotation(labels.WAIT_FOR_WORKERS) != "false",
        paused=meta.annotation(labels.PAUSE) == "true",
        stopped=bool(spec.ray_cluster_config.suspend) and queueing.is_kueues(meta),
        promote=meta.annotation(labels.PROMOTE),
        abort=meta.annotation(labels.ABORT),
        restarted_at=meta.annotation(labels.RESTARTED_AT),
        excludes_heads=bool(spec.exclude_head_pod_from_serve_svc),
        healing=Healing(
            unhealthy_after=None if unhealthy is None else timedelta(seconds=max(unhealthy, 0)),
            new_clusters=spec.deployment_unhealthy_restart_threshold or 0,
        ),
    )


def _scheduling_timeout(service: RayService) -> timedelta:
    autoscaled = bool(service.spec.ray_cluster_config.enable_in_tree_autoscaling)
    return _AUTOSCALING if autoscaled else Policy().scheduling_timeout
