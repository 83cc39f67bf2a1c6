"""Time as an argument: what waits or compares times gets its clock from its caller, tests a virtual one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

R = TypeVar("R")


class Clock(Protocol):
    """What time it is, and waiting for it to pass."""

    def now(self) -> float:
        """Seconds that only ever grow."""
        ...

    def utc(self) -> datetime:
        """What the calendar says."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def within(self, seconds: float, work: Coroutine[Any, Any, R]) -> R:
        """Do ``work``, but no longer than ``seconds``.

        Raises:
            TimeoutError: It took longer and was cancelled.
        """
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    def utc(self) -> datetime:
        """What the calendar says."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Coroutine[Any, Any, R]) -> R:
        """Do ``work``, but no longer than ``seconds``."""
        async with asyncio.timeout(seconds):
            return await work


SYSTEM_CLOCK = SystemClock()
