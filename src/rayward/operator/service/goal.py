"""What a service's spec asks for: a release, or why it is refused."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from rayward.kinds.hashing import release_hash
from rayward.kinds.rayservice import RayService
from rayward.kinds.validation import service_problems, service_warnings
from rayward.kinds.validation.service import serve_config
from rayward.operator.service.memory import config_hash
from rayward.operator.service.situation import Release


@dataclass(frozen=True, slots=True)
class Goal:
    """A release and the text of its config; without a release, why there is none."""

    release: Release | None = None
    config: str = ""
    refused: str = ""
    warnings: tuple[str, ...] = ()


def goal_of(service: RayService) -> Goal:
    """Read the whole spec."""
    warnings = tuple(map(str, service_warnings(service)))
    problems = service_problems(service)
    if problems:
        return Goal(refused="; ".join(map(str, problems)), warnings=warnings)
    payload = serve_config(service.spec).payload
    text = msgspec.json.encode(payload, order="deterministic").decode()
    return Goal(Release(release_hash(service.spec.ray_cluster_config), config_hash(text)), text, "", warnings)
