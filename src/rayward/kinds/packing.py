"""A RayJob's spec as text that fits into an annotation, from where an attempt that runs has it."""

from __future__ import annotations

import base64
import zlib
from typing import Final

import msgspec
from msgspec.structs import replace

from rayward.kinds.rayjob import RayJobSpec

MOST: Final = 128 * 1024
"""Bytes of a packed spec: all annotations of an object have 256 KiB, and the job's have other work too."""
_PACKED: Final = "z:"
_PLAIN_MAX: Final = 4096
_UNPACKED_MAX: Final = 4 * 1024 * 1024


def packed(spec: RayJobSpec) -> str:
    """The spec but for the cluster, whose own object has it; compressed where it is long."""
    text = msgspec.json.encode(replace(spec, ray_cluster_spec=None), order="deterministic").decode()
    if len(text) > _PLAIN_MAX:
        text = _PACKED + base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return text


def unpacked(text: str) -> RayJobSpec:
    """What ``packed`` made; fails with ValueError or zlib.error where it did not."""
    if text.startswith(_PACKED):
        whole = zlib.decompressobj().decompress(base64.b64decode(text[len(_PACKED) :]), _UNPACKED_MAX)
        return msgspec.json.decode(whole, type=RayJobSpec)
    return msgspec.json.decode(text, type=RayJobSpec)
