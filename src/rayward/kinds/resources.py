"""The collections of ray.io/v1."""

from __future__ import annotations

from typing import Final

from rayward.kube.core.resource import Resource

GROUP: Final = "ray.io"
RAY_CLUSTERS: Final = Resource(GROUP, "v1", "rayclusters", "RayCluster")
RAY_SERVICES: Final = Resource(GROUP, "v1", "rayservices", "RayService")
RAY_JOBS: Final = Resource(GROUP, "v1", "rayjobs", "RayJob")
RAY_CRON_JOBS: Final = Resource(GROUP, "v1", "raycronjobs", "RayCronJob")
