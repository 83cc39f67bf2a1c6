"""What waiting workloads are told, and when: soon, and then only as often as somebody would read it.

All who wait share one budget: where thousands do, what they are told must not take the server from what is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rayward.kube.client.ratelimit import TokenBucket
from rayward.kube.core.objects import Condition
from rayward.quota.engine.cycle import Pend

SOON_SECONDS: Final = 0.5
"""A workload that is admitted sooner is never told that it waits: most of a burst are."""
AGAIN_SECONDS: Final = 5.0
"""How often the numbers in a workload's message may change."""
TOLD_A_SECOND: Final = 5.0
"""How many messages all who wait are told, once the burst is used up."""
BURST: Final = 100
_REFILL_SECONDS: Final = BURST / TOLD_A_SECOND
"""Whoever found the budget empty asks again after this at the latest: what fills up while nobody asks is lost."""


@dataclass(slots=True)
class _Message:
    pend: Pend
    tried_at: float
    """When it was tried first."""
    told_at: float | None = None


class PendingMessages:
    """Why each workload that was tried waits. Times are the caller's, in seconds."""

    def __init__(self) -> None:
        self._messages: dict[str, _Message] = {}
        self._budget = TokenBucket(TOLD_A_SECOND, BURST)

    def put(self, pend: Pend, now: float) -> None:
        """A workload was tried, and waits."""
        known = self._messages.get(pend.key)
        if known is None:
            self._messages[pend.key] = _Message(pend, now)
        else:
            known.pend = pend

    def drop(self, key: str) -> None:
        """A workload waits no longer."""
        self._messages.pop(key, None)

    def next(self, key: str, condition: Condition | None, now: float) -> Pend | float | None:
        """What to tell a workload whose QuotaReserved is ``condition``, or in how many seconds to ask again."""
        message = self._messages.get(key)
        if message is None:
            return None
        pend = message.pend
        if condition is not None and (condition.reason, condition.message) == (pend.reason, pend.message):
            return None
        due = message.tried_at + SOON_SECONDS
        if message.told_at is not None and condition is not None and condition.reason == pend.reason:
            due = message.told_at + max(AGAIN_SECONDS, self._turn_seconds)
        if due > now:
            return due - now
        if self._budget.try_take(now):
            return pend
        return max(SOON_SECONDS, min(self._turn_seconds, _REFILL_SECONDS))

    @property
    def _turn_seconds(self) -> float:
        """How long it takes to tell each of them once."""
        return len(self._messages) / TOLD_A_SECOND

    def told(self, key: str, now: float) -> None:
        """A workload was told what ``next`` said."""
        if (message := self._messages.get(key)) is not None:
            message.told_at = now
