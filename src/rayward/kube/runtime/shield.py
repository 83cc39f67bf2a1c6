"""Requests that reach their end though the task that sent them is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

T = TypeVar("T")

DRAIN_SECONDS: Final = 4.0
"""With the time that a leader tries to renew, less than its lease: the next one must not begin before."""


class Shield:
    """``asyncio.shield`` that remembers what it shields, so that a process can wait for it before it ends."""

    def __init__(self) -> None:
        self._shielded: set[asyncio.Future[Any]] = set()

    async def __call__(self, work: Awaitable[T]) -> T:
        """The result of ``work``, which goes on if the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._shielded.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for what is under way: the next leader must not begin before the server has acted."""
        if self._shielded:
            await asyncio.wait(self._shielded, timeout=seconds)

    def _finished(self, work: asyncio.Future[Any]) -> None:
        self._shielded.discard(work)
        if not work.cancelled():
            # Retrieves the exception: a cancelled caller does not, and the loop would log it.
            work.exception()
