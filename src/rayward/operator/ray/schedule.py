"""When to look at a dashboard again."""

from __future__ import annotations

from enum import Enum
from typing import Final

from rayward.kube.runtime.backoff import Backoff


class Pace(Enum):
    """How much somebody waits for news."""

    IDLE = 10.0
    UPGRADING = 0.5


_UNSETTLED: Final = 1.0
_BACKOFF: Final = {Pace.IDLE: Backoff(10.0, 60.0), Pace.UPGRADING: Backoff(0.5, 5.0)}


def next_look(pace: Pace, *, settled: bool, failures: int, chance: float = 0.5) -> float:
    """Seconds until the next look.

    Every half second while a change runs, every second while Serve is on its way somewhere, else seldom. After
    ``failures`` in a row later and later, but during a change never more than seconds apart. ``chance`` in [0, 1)
    keeps many heads from being asked at one moment.
    """
    if failures > 0:
        return _BACKOFF[pace].after(failures, chance)
    if pace is Pace.UPGRADING:
        return pace.value
    return (pace.value if settled else _UNSETTLED) * (0.9 + 0.2 * chance)


def rest_of(pause: float, took: float) -> float:
    """What is left of ``pause`` after a look that ``took`` so long: looks begin in even steps.

    A head that is slow to answer is left alone for as long as it worked, but never longer than ``pause``.
    """
    return min(max(pause - took, took), pause)
