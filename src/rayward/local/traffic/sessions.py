"""All clients of the process: how many there may be, and which of them say nothing."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

TICK_SECONDS: Final = 1.0


class Session(Protocol):
    def expire(self, tick: int) -> None:
        """Close if it was silent for too long; called once a tick."""
        ...

    def close(self) -> None: ...


class Sessions:
    """Everybody who is connected."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: set[Session] = set()
        self.tick = 0

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, session: Session) -> bool:
        """A client came; returns whether there is room."""
        if len(self._all) >= self._most:
            return False
        self._all.add(session)
        return True

    def leave(self, session: Session) -> None:
        self._all.discard(session)

    async def watch(self) -> None:
        """Look after them until cancelled."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.tick += 1
            for session in list(self._all):
                session.expire(self.tick)

    def close(self) -> None:
        for session in list(self._all):
            session.close()
