"""A port on which each connection has a backend of its own."""

from __future__ import annotations

import asyncio
from typing import cast

from rayward.local.traffic.dialing import UnreachableError, reach
from rayward.local.traffic.route import Member, Route
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.splice import join, reset


class Connection(asyncio.Protocol):
    """A client until its backend is reached; from then on the two are one."""

    def __init__(self, route: Route, sessions: Sessions) -> None:
        self._route = route
        self._sessions = sessions
        self._transport: asyncio.Transport | None = None
        self._dialing: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came."""
        near = self._transport = cast("asyncio.Transport", transport)
        if not self._sessions.enter(self):
            reset(near)
            return
        near.pause_reading()
        self._dialing = asyncio.create_task(self._dial(near))

    def connection_lost(self, exc: Exception | None) -> None:
        """It went before its backend was reached."""
        self._sessions.leave(self)
        if self._dialing is not None:
            self._dialing.cancel()

    def expire(self, tick: int) -> None:
        """Connections may be silent for as long as they like."""

    def close(self) -> None:
        """End it."""
        if self._transport is not None:
            reset(self._transport)

    async def _dial(self, transport: asyncio.Transport) -> None:
        try:
            member, far = await open_to(self._route, transport)
        except UnreachableError:
            reset(transport)
            return
        finally:
            self._dialing = None
        if transport.is_closing():
            far.abort()
            member.end()
            return

        def over() -> None:
            member.end()
            self._sessions.leave(self)

        join(transport, far, over)
        transport.resume_reading()
        far.resume_reading()


class _Waiting(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # What it says first is for the protocol that follows.
        cast("asyncio.Transport", transport).pause_reading()


async def open_to(route: Route, client: asyncio.Transport) -> tuple[Member, asyncio.Transport]:
    """A backend for a client, not read from yet.

    Raises:
        UnreachableError: There is none.
    """
    member, made = await reach(route, peer_of(client), set(), patient=False)
    try:
        far, _ = await asyncio.get_running_loop().create_connection(_Waiting, sock=made)
    except BaseException as error:
        made.close()
        member.end()
        if isinstance(error, OSError):
            raise UnreachableError(502, f"{member.target.pod}: {error}") from error
        raise
    return member, far


def peer_of(client: asyncio.BaseTransport) -> str:
    """Whence a client came."""
    peer = client.get_extra_info("peername")
    return peer[0] if peer else ""
