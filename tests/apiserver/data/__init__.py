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


@cache
def protobuf_pairs() -> list[Object]:
    """Objects in both forms: name, protobuf (base64), and json (of what Go reads from it)."""
    return _read("protobuf_pairs")


@cache
def protobuf_refusals() -> list[Object]:
    """Malformed bodies: name, kind (of the endpoint), body (base64), and the message that they are refused with."""
    return _read("protobuf_refusals")


def _read(name: str) -> Any:
    return orjson.loads(gzip.decompress((Path(__file__).parent / f"{name}.json.gz").read_bytes()))
