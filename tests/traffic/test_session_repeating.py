"""Requests that meet a backend which closes or dies: repeated where nobody read them, and never carried out twice."""

from __future__ import annotations

import asyncio

import pytest

from tests.traffic.world import GET, Backend, Handler, Peer, listening, saying, until

pytestmark = pytest.mark.anyio

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def _post(length: int) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length


def _acting(acted: list[str], length: int) -> Handler:
    async def act(peer: Peer) -> None:
        await peer.head()
        await peer.exactly(length)
        acted.append("second")
        await peer.send(_OK)
        await peer.rest()

    return act


_CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_a_post_whose_first_part_was_read_is_not_sent_twice() -> None:
    acted: list[str] = []

    async def dying(peer: Peer) -> None:
        await peer.head()
        await peer.exactly(10)
        acted.append("first")

    async with Backend(dying) as one, Backend(_acting(acted, 25)) as two, listening(one) as port:
        client = await port.connect()
        await client.send(_CHUNKED + b"5\r\n11111\r\n")
        await until(lambda: bool(acted) and not one.busy)
        port.behind(two)
        await client.send(b"5\r\n22222\r\n0\r\n\r\n")
        assert (await client.response())[0] == 502
        assert acted == ["first"]
        client.close()


async def test_a_post_whose_head_was_read_is_not_sent_twice_though_its_body_was_not() -> None:
    acted: list[str] = []

    async def dying(peer: Peer) -> None:
        await peer.head()
        acted.append("first")
        peer.reset()

    async with Backend(dying) as one, Backend(_acting(acted, 15)) as two, listening(one) as port:
        client = await port.connect()
        await client.send(_CHUNKED)
        await until(lambda: bool(acted))
        port.behind(two)
        await client.send(b"5\r\n22222\r\n0\r\n\r\n")
        assert (await client.response())[0] == 502
        assert acted == ["first"]
        client.close()


async def test_a_post_in_parts_that_meets_a_closed_connection_is_sent_again() -> None:
    closing = asyncio.Event()

    async def impatient(peer: Peer) -> None:
        await peer.head()
        await peer.exactly(5)
        await peer.send(_OK)
        await closing.wait()

    async with Backend(impatient) as backend, listening(backend) as port:
        client = await port.connect()
        for _ in range(30):
            closing.clear()
            await client.send(_post(5))
            await until(lambda: port.session._request is not None and port.session._body is not None)
            await client.send(b"12345")
            assert await client.response() == (200, b"ok")
            closing.set()
        client.close()


async def test_a_request_too_large_to_be_repeated_gets_a_connection_that_cannot_be_closed_yet() -> None:
    async def reading(peer: Peer) -> None:
        while head := await peer.head():
            await peer.exactly(int(head.partition(b"Content-Length: ")[2].split()[0]))
            await peer.send(_OK)

    async with Backend(reading) as backend, listening(backend) as port:
        client = await port.connect()
        for length, connections in ((1000, 1), (1000, 1), (200_000, 2), (1000, 2)):
            await client.send(_post(length) + b"x" * length)
            assert await client.response() == (200, b"ok")
            assert backend.connections == connections
        client.close()


async def test_a_client_that_sends_no_more_loses_no_repetition() -> None:
    closing = asyncio.Event()

    async def impatient(peer: Peer) -> None:
        await peer.head()
        await peer.send(_OK)
        await closing.wait()

    async with Backend(impatient) as backend, listening(backend) as port:
        for _ in range(20):
            closing.clear()
            first, second = await port.connect(), await port.connect()
            assert await first.get() == (200, b"ok")
            second.writer.write(GET)
            second.writer.write_eof()
            closing.set()
            assert await second.response() == (200, b"ok")
            first.close()
            second.close()


@pytest.mark.parametrize(
    ("request_", "status"),
    [pytest.param(GET, 200, id="GET"), pytest.param(_post(0), 502, id="POST")],
)
async def test_a_backend_that_is_gone_without_a_word_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, request_: bytes, status: int
) -> None:
    async def silent(peer: Peer) -> None:
        await peer.head()
        await peer.rest()

    async with Backend(silent) as gone, Backend(saying("ok")) as other, listening(gone) as port:
        client = await port.connect()
        await client.send(request_)
        await until(lambda: port.in_flight == 1 and gone.connections == 1)
        port.pass_ticks(100)
        port.behind(other)
        monkeypatch.setattr("rayward.local.traffic.http.backend.lost", lambda _: True)
        port.pass_ticks(1)
        assert (await client.response())[0] == status
        assert [member.current for member in port.route.members] == [True]
        client.close()
