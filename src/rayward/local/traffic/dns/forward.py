"""Asking this machine's resolvers about names that are not the cluster's."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, cast

_SECONDS: Final = 1.5
_SULK_SECONDS: Final = 30.0
_MOST_AT_ONCE: Final = 256
_MOST_RESOLVERS: Final = 3
_PORT: Final = 53


def resolvers(text: str) -> list[str]:
    """The resolvers that a resolv.conf names. Pure."""
    found: list[str] = []
    for line in text.splitlines():
        match line.split():
            case ["nameserver", address, *_]:
                with contextlib.suppress(ValueError):
                    found.append(str(ipaddress.ip_address(address)))
            case _:
                continue
    return found[:_MOST_RESOLVERS]


def own_resolvers() -> list[str]:
    """The resolvers that this machine itself asks, from its resolv.conf."""
    try:
        return resolvers(Path("/etc/resolv.conf").read_text())
    except (OSError, UnicodeDecodeError):
        return []


class _Reply(asyncio.DatagramProtocol):
    def __init__(self, asked: bytes) -> None:
        self._asked = asked
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.DatagramTransport", transport).sendto(self._asked)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if data[:2] == self._asked[:2] and not self.answer.done():
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


class Forwarder:
    """Asks one resolver after another; one that does not answer is left alone for a while."""

    def __init__(self, servers: Sequence[str], now: Callable[[], float], port: int = _PORT) -> None:
        self._servers = servers
        self._port = port
        self._now = now
        self._sulking: dict[str, float] = {}
        self._asking = 0

    async def ask(self, data: bytes, *, tcp: bool) -> bytes | None:
        """The answer to a whole message; None if nobody has one."""
        if self._asking >= _MOST_AT_ONCE:
            return None
        self._asking += 1
        try:
            for server in self._servers:
                if self._sulking.get(server, 0) > self._now():
                    continue
                try:
                    async with asyncio.timeout(_SECONDS):
                        return await (self._by_tcp if tcp else self._by_udp)(server, data)
                except (OSError, asyncio.IncompleteReadError):
                    self._sulking[server] = self._now() + _SULK_SECONDS
        finally:
            self._asking -= 1
        return None

    async def _by_udp(self, server: str, data: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        transport, reply = await loop.create_datagram_endpoint(lambda: _Reply(data), remote_addr=(server, self._port))
        try:
            return await reply.answer
        finally:
            transport.close()

    async def _by_tcp(self, server: str, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(server, self._port)
        try:
            writer.write(len(data).to_bytes(2, "big") + data)
            return await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))
        finally:
            writer.close()
