"""How long to wait after failures in a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubling waits from ``first`` to ``longest`` seconds."""

    first: float
    longest: float

    def after(self, failures: int, chance: float = 0.5) -> float:
        """The wait after so many failures, the last included; ``chance`` in [0, 1) spreads it by half each way."""
        grown = min(self.first * 2.0 ** min(failures - 1, 60), self.longest)
        return grown * (0.5 + chance)
