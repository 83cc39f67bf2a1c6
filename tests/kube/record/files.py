"""Recordings on disk: compressed, and the same bytes for the same content."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

from rayward.local.apiserver import recorded

FOLDER: Final = Path(recorded.__file__).parent


def as_json(value: Any) -> bytes:
    """Compact JSON with sorted keys; lists keep their order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def write(path: Path, content: bytes) -> None:
    """Compresses without a time stamp."""
    path.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


def same(path: Path, content: bytes) -> bool:
    """Whether a recording holds this content; how it was compressed does not matter."""
    return path.exists() and gzip.decompress(path.read_bytes()) == content
