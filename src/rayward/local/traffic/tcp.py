"""A port on which each connection has a backend of its own."""

from __future__ import annotations

import asyncio
from typing import cast

from rayward.local.traffic.dialing import UnreachableError, reach
from rayward.local.traffic.route import Member, Route
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.splice import end_if_lost, join, reset


class Early(asyncio.Protocol):
    """Keeps what comes before anybody can take it; reading cannot be paused before the first bytes are there."""

    def __init__(self) -> None:
        self.said = b""
        self.ended = False
        self.near: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.near = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.said += data
        if self.near is not None:
            self.near.pause_reading()

    def eof_received(self) -> bool:
        """And has said all."""
        self.ended = True
        return True


class Connection(Early):
    """A client until its backend is reached; from then on the two are one."""

    def __init__(self, route: Route, sessions: Sessions) -> None:
        super().__init__()
        self._route = route
        self._sessions = sessions
        self._dialing: asyncio.Task[None] | None = None
        self._far: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.enter(cast("asyncio.Transport", transport)):
            self.dial()

    def enter(self, near: asyncio.Transport) -> bool:
        """Take a client, new or from another protocol; whether there is room."""
        self.near = near
        if self._sessions.enter(self):
            return True
        reset(near)
        return False

    def dial(self) -> None:
        """Reach for a backend, and then be one connection with it."""
        assert self.near is not None
        self._dialing = asyncio.create_task(self._dial(self.near))

    def connection_lost(self, exc: Exception | None) -> None:
        """It went before its backend was reached."""
        self._sessions.leave(self)
        if self._dialing is not None:
            self._dialing.cancel()

    def expire(self, tick: int) -> None:
        """Connections may be silent for as long as they like, but not gone."""
        end_if_lost(self.near, self._far)

    def close(self) -> None:
        if self.near is not None:
            reset(self.near)

    async def _dial(self, transport: asyncio.Transport) -> None:
        try:
            member, far, early = await open_to(self._route, transport)
        except UnreachableError:
            reset(transport)
            return
        finally:
            self._dialing = None
        if transport.is_closing():
            far.abort()
            member.end()
            return
        self.join(far, early, member)

    def join(self, far: asyncio.Transport, early: Early, member: Member) -> None:
        """From here on client and backend are one connection."""
        assert self.near is not None

        def over() -> None:
            member.end()
            self._sessions.leave(self)

        self._far = far
        join((self.near, self), (far, early), over)


async def open_to(route: Route, client: asyncio.Transport) -> tuple[Member, asyncio.Transport, Early]:
    """A backend for a client, and what it said by itself.

    Raises:
        UnreachableError: There is none.
    """
    member, made = await reach(route, peer_of(client), set(), patient=False)
    try:
        far, early = await asyncio.get_running_loop().create_connection(Early, sock=made)
    except BaseException as error:
        made.close()
        member.end()
        if isinstance(error, OSError):
            raise UnreachableError(502, f"{member.target.pod}: {error}") from error
        raise
    return member, far, early


def peer_of(client: asyncio.BaseTransport) -> str:
    """Whence a client came."""
    peer = client.get_extra_info("peername")
    return peer[0] if peer else ""
