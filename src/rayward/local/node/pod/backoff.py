"""The growing wait between starts of a container that keeps ending."""

from __future__ import annotations

from typing import Final

from rayward.local.node.pod.facts import Backoff, Run

FIRST: Final = 10.0
LONGEST: Final = 300.0


def wait_until(run: Run | None, backoff: Backoff) -> float | None:
    """When the next start is due; None if it is due at once."""
    if run is None or run.ended is None or backoff.delay == 0.0:
        return None
    if run.ended - backoff.updated > 2 * LONGEST:
        return None
    return run.ended + backoff.delay


def after_start(run: Run | None, backoff: Backoff, now: float) -> Backoff:
    """The wait that the start after ``run``, made now, leads to."""
    if run is None:
        return backoff
    if backoff.delay == 0.0 or now - backoff.updated > 2 * LONGEST:
        return Backoff(FIRST, now)
    return Backoff(min(backoff.delay * 2, LONGEST), now)
