"""Datagrams through a port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from rayward.local.traffic.place import Host
from rayward.local.traffic.route import Group, Route, Target
from rayward.local.traffic.udp import UdpPort
from tests.traffic.world import HOST, until

pytestmark = pytest.mark.anyio


class _Echo(asyncio.DatagramProtocol):
    def __init__(self, word: bytes) -> None:
        self._word = word

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._near = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._near.sendto(self._word + data, addr)


class _Client(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.heard: asyncio.Queue[bytes] = asyncio.Queue()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.near = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.heard.put_nowait(data)

    async def ask(self, data: bytes) -> bytes:
        self.near.sendto(data)
        async with asyncio.timeout(30):
            return await self.heard.get()


@asynccontextmanager
async def _echo(word: bytes) -> AsyncGenerator[Target]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Echo(word), local_addr=(HOST, 0))
    yield Target(word.decode(), HOST, transport.get_extra_info("sockname")[1], Host())
    transport.close()


@asynccontextmanager
async def _port(*targets: Target) -> AsyncGenerator[tuple[Route, int]]:
    loop = asyncio.get_running_loop()
    route = Route("default/dns", "53", lambda: None, loop.time)
    route.update([Group(1, targets)])
    transport, _ = await loop.create_datagram_endpoint(lambda: UdpPort(route), local_addr=(HOST, 0))
    yield route, transport.get_extra_info("sockname")[1]
    transport.close()
    await until(lambda: not any(member.in_flight for member in route.members))


@asynccontextmanager
async def _client(port: int) -> AsyncGenerator[_Client]:
    transport, client = await asyncio.get_running_loop().create_datagram_endpoint(_Client, remote_addr=(HOST, port))
    yield client
    transport.close()
    await asyncio.sleep(0)


async def test_each_client_has_a_backend_and_hears_its_own_answers() -> None:
    async with (
        _echo(b"a:") as one,
        _echo(b"b:") as two,
        _port(one, two) as (_, port),
        _client(port) as first,
        _client(port) as second,
    ):
        heard = [await client.ask(b"x") for client in (first, second)]
        assert sorted(heard) == [b"a:x", b"b:x"]
        for _ in range(3):
            assert [await client.ask(b"x") for client in (first, second)] == heard


async def test_a_client_moves_on_when_its_backend_left() -> None:
    async with _echo(b"a:") as one, _echo(b"b:") as two, _port(one) as (route, port), _client(port) as client:
        assert await client.ask(b"x") == b"a:x"
        route.update([Group(1, (two,))])
        assert await client.ask(b"x") == b"b:x"
        assert [member.target.pod for member in route.members] == ["b:"]


async def test_without_endpoints_nothing_is_kept() -> None:
    async with _port() as (route, port), _client(port) as client:
        client.near.sendto(b"x")
        await until(lambda: route.refused == 1)
