"""The name server: UDP and TCP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final, cast

from rayward.local.traffic.dns import message, zone
from rayward.local.traffic.dns.forward import Forwarder
from rayward.local.traffic.dns.message import SMALLEST, Code, MalformedError, Question
from rayward.local.traffic.dns.zone import View
from rayward.local.traffic.listeners import Listeners
from rayward.local.traffic.place import Place

ADDRESS: Final = "10.43.0.10"
PORT: Final = 53
_IDLE_SECONDS: Final = 10.0
_MOST_CONNECTIONS: Final = 256
_MOST_TASKS: Final = 1024

Peer = tuple[str, int]


class NameServer:
    """Answers names at one address."""

    def __init__(self, view: View, forwarder: Forwarder, listeners: Listeners) -> None:
        self._listeners = listeners
        self._view = view
        self._forwarder = forwarder
        self._connections = 0
        self._closers: list[Callable[[], None]] = []

    async def open(self, place: Place, address: str = ADDRESS, port: int = PORT) -> int:
        """Begin to answer; returns the port.

        Raises:
            OSError: The address is taken or not there.
        """
        self.close()
        loop = asyncio.get_running_loop()
        # TCP first: where any port will do, connections that ended a moment ago hold many of its, and none of UDP's.
        connections = await self._listeners.open(place, "tcp", address, port)
        port = connections.socket.getsockname()[1]
        server = await asyncio.start_server(self._serve, sock=connections.socket)
        self._closers.append(connections.closer(server.close))
        try:
            datagrams = await self._listeners.open(place, "udp", address, port)
        except OSError:
            self.close()
            raise
        transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=datagrams.socket)
        self._closers.append(datagrams.closer(transport.close))
        return port

    def close(self) -> None:
        while self._closers:
            self._closers.pop()()

    def at_once(self, data: bytes, *, tcp: bool) -> bytes | Question | None:
        """The answer; None if there is none to give; the question, if somebody else must be asked."""
        try:
            question = message.read(data)
        except MalformedError as error:
            return None if error.number is None else message.write_error(error.number, error.code)
        if question is None:
            return None
        found = zone.answer(question.name, question.kind, self._view)
        if found is None:
            return question
        return message.write(question, *found, None if tcp else question.size or SMALLEST)

    async def elsewhere(self, question: Question, data: bytes, *, tcp: bool) -> bytes:
        """The answer of this machine's resolvers."""
        answer = await self._forwarder.ask(data, tcp=tcp)
        return answer or message.write(question, Code.FAILED, (), None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while self._connections <= _MOST_CONNECTIONS:
                    async with asyncio.timeout(_IDLE_SECONDS):
                        size = int.from_bytes(await reader.readexactly(2), "big")
                        data = await reader.readexactly(size)
                    answer = self.at_once(data, tcp=True)
                    if isinstance(answer, Question):
                        answer = await self.elsewhere(answer, data, tcp=True)
                    if answer is None:
                        return
                    writer.write(len(answer).to_bytes(2, "big") + answer)
                    await writer.drain()
        finally:
            self._connections -= 1
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()

    def datagram_received(self, data: bytes, addr: Peer) -> None:
        answer = self._server.at_once(data, tcp=False)
        if isinstance(answer, Question):
            if len(self._tasks) < _MOST_TASKS:
                task = asyncio.create_task(self._ask(answer, data, addr))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        elif answer is not None:
            self._send(answer, addr)

    async def _ask(self, question: Question, data: bytes, peer: Peer) -> None:
        self._send(await self._server.elsewhere(question, data, tcp=False), peer)

    def _send(self, data: bytes, peer: Peer) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(data, peer)
