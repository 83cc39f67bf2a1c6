"""Time that passes only when everybody waits."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

R = TypeVar("R")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class DeadlockError(Exception):
    """Everybody waits and no timer is left."""


class _Selector(selectors.SelectSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise DeadlockError("everybody waits, and nothing will ever happen")
        self.loop.moment += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self.moment = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.moment


class VirtualClock:
    """The clock of the running VirtualLoop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        return EPOCH + timedelta(seconds=self.now())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, R]) -> R:
        async with asyncio.timeout(seconds):
            return await work


def run(work: Coroutine[Any, Any, R]) -> R:
    """Run ``work`` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
