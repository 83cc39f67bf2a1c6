"""How a real kube-apiserver judged objects of the built-in kinds, recorded by ``tests.apiserver.builtin.record``.

One file per resource, one line per object. A line holds an ``id``, what was ``given``, and either the ``answer`` to
creating it, or (after an optional merge patch of its ``status``) the answers to ``changes`` of it, which are merge
patches too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

Object = dict[str, Any]
FOLDER = Path(__file__).parent


def files() -> list[Path]:
    """The recordings."""
    return sorted(FOLDER.glob("*.jsonl"))


def lines(path: Path) -> list[Object]:
    """What a recording holds."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def creations() -> Iterator[tuple[str, Object]]:
    """Resource and line of everything that was created."""
    for path in files():
        yield from ((path.stem, line) for line in lines(path) if "answer" in line)


def changes() -> Iterator[tuple[str, Object]]:
    """Resource and line of everything that was changed."""
    for path in files():
        yield from ((path.stem, line) for line in lines(path) if "changes" in line)
