"""The manifests that the package carries."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

PLURALS: Final = ("rayclusters", "rayservices", "rayjobs", "raycronjobs")
"""Ray's kinds, which are ours on every cluster."""
QUEUEING_PLURALS: Final = (
    "admissionchecks",
    "clusterqueues",
    "cohorts",
    "localqueues",
    "multikueueclusters",
    "multikueueconfigs",
    "resourceflavors",
    "workloadpriorityclasses",
    "workloads",
)
"""Kueue's kinds: installed only where no Kueue is, because Kueue brings its own, with conversion."""

_FOLDER: Final = Path(__file__).parent


def path_of(plural: str) -> Path:
    """The file of one kind."""
    return _FOLDER / f"{plural}.json.gz"


def manifest(plural: str) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind, to be applied as it is."""
    return orjson.loads(gzip.decompress(path_of(plural).read_bytes()))


def manifests(plurals: Sequence[str] = PLURALS) -> list[dict[str, Any]]:
    """Those of several kinds, by default Ray's."""
    return [manifest(plural) for plural in plurals]
