"""Backends and ports on plain loopback: the core of the traffic without an API server and without pods."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from rayward.local.traffic.http.session import Session
from rayward.local.traffic.place import Host
from rayward.local.traffic.route import Group, Route, Target
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.tcp import Connection

HOST = "127.0.0.1"
PATIENCE = 150.0
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Peer:
    """One end of a connection, in the hands of a test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def until(self, end: bytes) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readuntil(end)

    async def exactly(self, count: int) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readexactly(count)

    async def rest(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.read()

    async def head(self) -> bytes:
        return await self.until(b"\r\n\r\n")

    async def response(self) -> tuple[int, bytes]:
        """Status and body of an answer with a length."""
        head = await self.head()
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        return int(head.split()[1]), await self.exactly(length)

    async def get(self, path: str = "/", headers: str = "") -> tuple[int, bytes]:
        await self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        return await self.response()

    def abort(self) -> None:
        self.writer.transport.abort()

    def reset(self) -> None:
        """End it as the kernel does where something was not read."""
        made = self.writer.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def close(self) -> None:
        self.writer.close()


Handler = Callable[[Peer], Awaitable[None]]


class Backend:
    """A server that does what a test says, and counts."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.connections = 0
        self.port = 0

    async def __aenter__(self) -> Backend:
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._handler(Peer(reader, writer))
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    @property
    def busy(self) -> bool:
        """Whether a connection to it is not over."""
        return bool(self._tasks)

    def target(self, pod: str = "") -> Target:
        return Target(pod or f"pod-{self.port}", HOST, self.port, _HOST)


_HOST = Host()


def saying(text: str) -> Handler:
    """A handler that answers every request with a text."""

    async def handle(peer: Peer) -> None:
        while await peer.head():
            await peer.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())

    return handle


class Port:
    """A port of a service that listens."""

    def __init__(self, route: Route, sessions: Sessions, number: int) -> None:
        self.route = route
        self.sessions = sessions
        self.number = number
        self._peers: list[Peer] = []

    async def connect(self) -> Peer:
        peer = Peer(*await asyncio.open_connection(HOST, self.number))
        self._peers.append(peer)
        return peer

    async def close(self) -> None:
        """End all connections, and wait until they are."""
        self.route.update(())
        self.sessions.close()
        for peer in self._peers:
            peer.close()
        await until(lambda: not self.sessions._all)
        for peer in self._peers:
            with contextlib.suppress(OSError):
                await peer.writer.wait_closed()

    def behind(self, *backends: Backend) -> None:
        self.route.update([Group(1, tuple(one.target() for one in backends))])

    @property
    def session(self) -> Any:
        """The only client's, as the port sees it."""
        (session,) = self.sessions._all
        return session

    def pass_ticks(self, count: int) -> None:
        """Let time go by."""
        for _ in range(count):
            self.sessions.tick += 1
            for session in list(self.sessions._all):
                session.expire(self.sessions.tick)

    @property
    def in_flight(self) -> int:
        return sum(member.in_flight for member in self.route.members)


@asynccontextmanager
async def listening(*backends: Backend, http: bool = True, most: int = 1000) -> AsyncGenerator[Port]:
    """A port with backends behind it."""
    loop = asyncio.get_running_loop()
    route = Route("default/web", "8000", lambda: None, loop.time)
    sessions = Sessions(most)
    factory = Session if http else Connection
    server = await loop.create_server(lambda: factory(route, sessions), HOST, 0)
    port = Port(route, sessions, server.sockets[0].getsockname()[1])
    port.behind(*backends)
    try:
        yield port
    finally:
        server.close()
        await port.close()
        await server.wait_closed()


@asynccontextmanager
async def asking(handler: Handler) -> AsyncGenerator[Peer]:
    """A client of a port with one backend behind it."""
    async with Backend(handler) as backend, listening(backend) as port:
        client = await port.connect()
        yield client
        client.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
