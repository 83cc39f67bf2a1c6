"""The operator's process: its own kinds, and what other rooms add to it. ``python -m rayward.stack.operator``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rayward.changes import recording
from rayward.changes.timeline import Store, recorder
from rayward.kube.runtime.registry import Registration
from rayward.operator import arguments, registry
from rayward.operator.cluster.observe import CLUSTERS, RAY_PODS
from rayward.operator.job.observe import RAY_JOBS_WHOLE
from rayward.operator.ray.reach import Reach
from rayward.operator.service.observe import RAY_SERVICES_WHOLE

_KINDS = (CLUSTERS, RAY_SERVICES_WHOLE, RAY_JOBS_WHOLE)


def registrations(reach: Reach, store: Store | None = None) -> tuple[Registration, ...]:
    """Every entry of the process, on shared watches; the timeline is kept in memory without a ``store``."""
    timeline = recorder.registration(store or Store(), _KINDS, RAY_PODS)
    return (*registry.registrations(reach), *recording.registrations(*_KINDS), timeline)


def main(words: list[str] | None = None) -> int:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--timeline-folder", type=Path)
    options, others = parser.parse_known_args(words)
    store = Store(options.timeline_folder)
    return arguments.main(others, lambda reach: registrations(reach, store))


if __name__ == "__main__":
    sys.exit(main())
