"""The name server, asked over UDP and TCP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from rayward.local.traffic.dns.forward import Forwarder, resolvers
from rayward.local.traffic.dns.server import NameServer
from rayward.local.traffic.listeners import Listeners
from rayward.local.traffic.place import Host
from tests.traffic.test_dns_message import query
from tests.traffic.test_dns_zone import VIEW
from tests.traffic.world import HOST, Peer

_NAME = "web.default.svc.cluster.local"


class _Asker(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.heard.set_result(data)


async def _ask(port: int, data: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    transport, asker = await loop.create_datagram_endpoint(_Asker, remote_addr=(HOST, port))
    try:
        transport.sendto(data)
        async with asyncio.timeout(30):
            return await asker.heard
    finally:
        transport.close()


@asynccontextmanager
async def _serving(*servers: str, at: int = 53) -> AsyncGenerator[int]:
    server = NameServer(VIEW, Forwarder(servers, asyncio.get_running_loop().time, at), Listeners())
    try:
        yield await server.open(Host(), HOST, 0)
    finally:
        server.close()
        await asyncio.sleep(0)


@pytest.mark.anyio
async def test_a_name_over_udp() -> None:
    async with _serving() as port:
        answer = await _ask(port, query(_NAME))
        assert answer.endswith(b"\x0a\x2b\x00\x07")
        assert answer[3] & 0x0F == 0


@pytest.mark.anyio
async def test_names_over_one_tcp_connection() -> None:
    async with _serving() as port:
        peer = Peer(*await asyncio.open_connection(HOST, port))
        for name in (_NAME, _NAME):
            data = query(name)
            await peer.send(len(data).to_bytes(2, "big") + data)
            size = int.from_bytes(await peer.exactly(2), "big")
            assert (await peer.exactly(size)).endswith(b"\x0a\x2b\x00\x07")
        peer.close()
        await peer.writer.wait_closed()


@pytest.mark.anyio
async def test_what_is_not_understood_is_answered_with_an_error() -> None:
    async with _serving() as port:
        assert (await _ask(port, query(_NAME)[:14]))[3] & 0x0F == 1


@pytest.mark.anyio
async def test_other_names_fail_at_once_where_nobody_can_be_asked() -> None:
    async with _serving() as port:
        assert (await _ask(port, query("example.com")))[3] & 0x0F == 2


class _Resolver(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.asked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._near = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.asked += 1
        self._near.sendto(data[:2] + b"from elsewhere", addr)


@pytest.mark.anyio
async def test_other_names_are_asked_of_the_machines_resolvers() -> None:
    loop = asyncio.get_running_loop()
    transport, resolver = await loop.create_datagram_endpoint(_Resolver, local_addr=(HOST, 0))
    async with _serving(HOST, at=transport.get_extra_info("sockname")[1]) as port:
        assert await _ask(port, query("example.com", number=99)) == b"\x00\x63from elsewhere"
        assert await _ask(port, query(_NAME))
        assert resolver.asked == 1
    transport.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nameserver 10.0.0.1\nsearch x\nnameserver fd00::1 # comment\n", ["10.0.0.1", "fd00::1"]),
        ("# nothing\nnameserver\nnameserver nonsense\n", []),
    ],
)
def test_resolvers_of_this_machine(text: str, found: list[str]) -> None:
    assert resolvers(text) == found
