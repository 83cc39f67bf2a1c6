"""What a service's spec asks for: a release, or why it is refused."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from rayward.kinds.hashing import release_hash
from rayward.kinds.rayservice import RayService
from rayward.kinds.validation import FEATURE_MISSING, listed, only_lacks_features, service_problems, service_warnings
from rayward.kinds.validation.service import serve_config
from rayward.operator.service.memory import config_hash
from rayward.operator.service.situation import Failure, Release


@dataclass(frozen=True, slots=True)
class Goal:
    """A release and the text of its config; without a release, why there is none."""

    release: Release | None = None
    config: str = ""
    refused: Failure | None = None
    warnings: tuple[str, ...] = ()


def goal_of(service: RayService) -> Goal:
    """Read the whole spec."""
    warnings = tuple(map(str, service_warnings(service)))
    problems = service_problems(service)
    if problems:
        reason = FEATURE_MISSING if only_lacks_features(problems) else "ValidationFailed"
        return Goal(refused=Failure(reason, listed(problems)), warnings=warnings)
    payload = serve_config(service.spec).payload
    text = msgspec.json.encode(payload, order="deterministic").decode()
    return Goal(Release(release_hash(service.spec.ray_cluster_config), config_hash(text)), text, None, warnings)
