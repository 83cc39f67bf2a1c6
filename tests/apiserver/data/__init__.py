"""Examples recorded from the real components by ``python -m tests.kube.record``."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import orjson

Object = dict[str, Any]


@cache
def conditional_defaults() -> list[Object]:
    """Probes whose result the table of defaults does not explain, or explains only in part.

    Keys: type (of the probed value), at (where in which kind), given (what was sent there) and filled (fields that were
    added or changed beyond ``recorded.defaults()``; null: removed; the field ``*``: the whole value was removed).
    """
    return _read("conditional_defaults")


@cache
def creations() -> list[Object]:
    """Whole objects: name, sent, and created (the answer to a dry run, with ``*`` for what no two servers share)."""
    return _read("creations")


def _read(name: str) -> Any:
    return orjson.loads(gzip.decompress((Path(__file__).parent / f"{name}.json.gz").read_bytes()))
