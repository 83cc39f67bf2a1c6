"""The operator's process: its own kinds, and what other rooms add to it. ``python -m rayward.stack.operator``."""

from __future__ import annotations

import sys

from rayward.changes import recording
from rayward.kube.runtime.registry import Registration
from rayward.operator import arguments, registry
from rayward.operator.cluster.observe import CLUSTERS
from rayward.operator.job.observe import RAY_JOBS_WHOLE
from rayward.operator.ray.reach import Reach
from rayward.operator.service.observe import RAY_SERVICES_WHOLE


def registrations(reach: Reach) -> tuple[Registration, ...]:
    """Every entry of the process, on shared watches."""
    recorded = recording.registrations(CLUSTERS, RAY_SERVICES_WHOLE, RAY_JOBS_WHOLE)
    return (*registry.registrations(reach), *recorded)


def main(words: list[str] | None = None) -> int:
    """Work until told to stop."""
    return arguments.main(words, registrations)


if __name__ == "__main__":
    sys.exit(main())
