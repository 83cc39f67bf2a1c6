"""How long a container may take to end."""

from __future__ import annotations

from typing import Final

_LEAST: Final = 2.0


def left(grace: float, elapsed: float) -> float:
    """What is left of a pod's grace after ``elapsed`` seconds: enough to hear of the end, unless there never was."""
    return max(grace - max(elapsed, 0.0), min(grace, _LEAST))
