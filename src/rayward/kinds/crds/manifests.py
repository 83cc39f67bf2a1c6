"""The manifests that the package carries."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Final

import orjson

PLURALS: Final = ("rayclusters", "rayservices", "rayjobs", "raycronjobs")

_FOLDER: Final = Path(__file__).parent


def path_of(plural: str) -> Path:
    """The file of one kind."""
    return _FOLDER / f"{plural}.json.gz"


def manifest(plural: str) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind, to be applied as it is."""
    return orjson.loads(gzip.decompress(path_of(plural).read_bytes()))


def manifests() -> list[dict[str, Any]]:
    """All of them."""
    return [manifest(plural) for plural in PLURALS]
