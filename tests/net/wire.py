"""Two ends of one connection inside the test's own loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rayward.net.duplex import Duplex


@asynccontextmanager
async def pair() -> AsyncGenerator[tuple[Duplex, Duplex]]:
    """A connection: what is written at one end is read at the other. Nothing is left of it in the end."""
    ends = [Duplex(*await asyncio.open_connection(sock=end)) for end in socket.socketpair()]
    try:
        async with asyncio.timeout(60):
            yield ends[0], ends[1]
    finally:
        for end in ends:
            end.abort()
        # transports close in the next turn; one whose protocol was changed tells nobody
        for _ in range(3):
            await asyncio.sleep(0)
