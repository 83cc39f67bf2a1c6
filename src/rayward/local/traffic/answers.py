"""How a backend answered: how many answers of each kind, and how long it took."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Final

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds; what takes longer is in none of them."""


class Answers:
    """The whole answers of one backend."""

    __slots__ = ("_counts", "codes", "seconds")

    def __init__(self) -> None:
        self.codes: Counter[int] = Counter()
        """By the first digit of their status."""
        self.seconds = 0.0
        """Of all of them together."""
        self._counts = [0] * (len(BUCKETS) + 1)

    def add(self, status: int, seconds: float) -> None:
        """One more, that many seconds after its request was sent."""
        self.codes[status // 100] += 1
        self.seconds += seconds
        self._counts[bisect_left(BUCKETS, seconds)] += 1

    def buckets(self) -> list[tuple[str, float]]:
        """How many took at most so long, as Prometheus has it."""
        total = 0
        found: list[tuple[str, float]] = []
        for bound, count in zip((*BUCKETS, float("inf")), self._counts, strict=True):
            total += count
            found.append(("+Inf" if bound == float("inf") else str(bound), total))
        return found
