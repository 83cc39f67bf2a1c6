"""A token bucket: so many requests a second, with a burst, as client-go limits itself."""

from __future__ import annotations


class TokenBucket:
    """Lets ``burst`` through at once and ``rate`` a second after that. Times are the caller's, in seconds."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at: float | None = None

    def take(self, now: float) -> float:
        """Take a token, from the future if need be; how long to wait for it."""
        self._fill(now)
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)

    def try_take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._fill(now)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def _fill(self, now: float) -> None:
        if self._at is not None:
            self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._rate)
        self._at = now if self._at is None else max(now, self._at)
