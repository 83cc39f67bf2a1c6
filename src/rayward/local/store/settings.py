"""How much history the store keeps, and how it treats the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Retention:
    """Which events stay: the last ``events``, and those of the last ``seconds``.

    Beyond ``superseded_bytes`` of replaced or deleted values the oldest go all the same, because they are held in
    memory.
    """

    events: int = 2_000
    seconds: float = 300.0
    superseded_bytes: int = 32 << 20


@dataclass(frozen=True, slots=True)
class Tuning:
    """Knobs that only tests and benchmarks turn.

    ``synchronous`` other than FULL loses acknowledged writes at power loss; tests show it. ``max_queued`` writes may
    wait for the disk at once; as many revisions are skipped when a store is opened that was not closed.
    """

    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    vfs: str | None = None
    max_batch: int = 256
    max_queued: int = 16_384
    max_queued_bytes: int = 256 << 20
    checkpoint_bytes: int = 64 << 20
    idle_checkpoint_bytes: int = 1 << 20
    idle_seconds: float = 1.0
