"""Writes that are carried to their end though their sender is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

T = TypeVar("T")

DRAIN_SECONDS: Final = 4.0
"""With the time that a leader tries to renew, less than its lease: the next one must not begin before."""


class Unbroken:
    """Work that a cancelled caller leaves to finish by itself."""

    def __init__(self) -> None:
        self._works: set[asyncio.Future[Any]] = set()

    async def __call__(self, work: Awaitable[T]) -> T:
        """The result of ``work``, which goes on if the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._works.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for what was begun: the next leader must not begin before the server has acted."""
        if self._works:
            await asyncio.wait(self._works, timeout=seconds)

    def _ended(self, work: asyncio.Future[Any]) -> None:
        self._works.discard(work)
        if not work.cancelled():
            # A caller that is gone does not ask how it ended, and nobody else is to complain of that.
            work.exception()
