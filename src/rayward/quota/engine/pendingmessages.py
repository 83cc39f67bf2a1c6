"""What waiting workloads are told, and when: soon, and then only as often as somebody would read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rayward.kube.core.objects import Condition
from rayward.quota.engine.cycle import Pend

SOON_SECONDS: Final = 0.5
"""A workload that is admitted sooner is never told that it waits: most of a burst are."""
AGAIN_SECONDS: Final = 5.0
"""How often the numbers in a workload's message may change."""


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
            due = message.told_at + AGAIN_SECONDS
        return pend if due <= now else due - now

    def told(self, key: str, now: float) -> None:
        """A workload was told what ``next`` said."""
        if (message := self._messages.get(key)) is not None:
            message.told_at = now
