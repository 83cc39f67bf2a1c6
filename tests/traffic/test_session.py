"""HTTP through a port: each request to a backend of its own, and every byte as it came."""

from __future__ import annotations

import asyncio

import pytest

from rayward.local.traffic.route import Group
from tests.traffic.world import GET, Backend, Peer, asking, listening, saying, until

pytestmark = pytest.mark.anyio


async def test_connections_to_both_sides_are_kept() -> None:
    async with Backend(saying("hello")) as backend, listening(backend) as port:
        client = await port.connect()
        for _ in range(5):
            assert await client.get() == (200, b"hello")
        assert backend.connections == 1
        client.close()


async def test_each_request_of_a_connection_goes_to_the_next_backend() -> None:
    async with Backend(saying("one")) as one, Backend(saying("two")) as two, listening(one, two) as port:
        client = await port.connect()
        heard = [(await client.get())[1] for _ in range(6)]
        assert sorted(heard) == [b"one"] * 3 + [b"two"] * 3
        client.close()


async def test_the_least_busy_backend_is_asked() -> None:
    held = asyncio.Event()

    async def slow(peer: Peer) -> None:
        await peer.head()
        await held.wait()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")

    async with Backend(slow) as one, Backend(saying("fast")) as two, listening(one, two) as port:
        clients = [await port.connect() for _ in range(2)]
        for client in clients:
            await client.send(GET)
        await until(lambda: one.connections == 1)
        other = await port.connect()
        for _ in range(10):
            assert await other.get() == (200, b"fast")
        held.set()
        for peer in (*clients, other):
            peer.close()


async def test_weights_divide_requests() -> None:
    async with Backend(saying("a")) as one, Backend(saying("b")) as two, listening() as port:
        port.route.update([Group(9, (one.target(),)), Group(1, (two.target(),))])
        client = await port.connect()
        heard = [(await client.get())[1] for _ in range(100)]
        assert (heard.count(b"a"), heard.count(b"b")) == (90, 10)
        client.close()


async def test_a_client_with_affinity_stays_with_its_backend() -> None:
    async with Backend(saying("a")) as one, Backend(saying("b")) as two, listening(one, two) as port:
        port.route.sticky_seconds = 60
        peers = [await port.connect() for _ in range(4)]
        heard = {(await peer.get())[1] for peer in peers for _ in range(3)}
        assert len(heard) == 1
        port.behind(two if heard == {b"a"} else one)
        assert {(await peer.get())[1] for peer in peers} == {b"a", b"b"} - heard
        for peer in peers:
            peer.close()


async def test_a_switch_moves_the_next_request_and_lets_the_last_one_finish() -> None:
    async def streaming(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nold\r\n")
        await held.wait()
        await peer.send(b"3\r\nend\r\n0\r\n\r\n")
        await peer.rest()

    held = asyncio.Event()
    async with Backend(streaming) as old, Backend(saying("new")) as new, listening(old) as port:
        slow, quick = await port.connect(), await port.connect()
        await slow.send(GET)
        await slow.until(b"old\r\n")
        port.behind(new)
        assert await quick.get() == (200, b"new")
        left = [member for member in port.route.members if not member.current]
        assert [member.in_flight for member in left] == [1]
        held.set()
        assert await slow.until(b"0\r\n\r\n") == b"3\r\nend\r\n0\r\n\r\n"
        assert await slow.get() == (200, b"new")
        assert all(member.current for member in port.route.members)
        slow.close()
        quick.close()


async def test_bytes_go_through_as_they_come_in_both_directions() -> None:
    async def echo(peer: Peer) -> None:
        assert b"Transfer-Encoding: chunked" in await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
        while True:
            line = await peer.until(b"\r\n")
            if line == b"0\r\n":
                break
            await peer.send(line + await peer.until(b"\r\n"))
        trailers = await peer.until(b"\r\n\r\n")
        await peer.send(b"0\r\n" + trailers)

    async with asking(echo) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        await client.head()
        for word in (b"first", b"second"):
            chunk = b"%x\r\n%s\r\n" % (len(word), word)
            await client.send(chunk)
            assert await client.exactly(len(chunk)) == chunk
        await client.send(b"0\r\nX-Sum: 11\r\n\r\n")
        assert await client.until(b"\r\n\r\n") == b"0\r\nX-Sum: 11\r\n\r\n"


async def test_pipelined_requests_are_answered_in_order() -> None:
    async def numbered(peer: Peer) -> None:
        while head := await peer.head():
            path = head.split()[1]
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path))

    async with Backend(numbered) as one, Backend(numbered) as two, listening(one, two) as port:
        client = await port.connect()
        await client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(20)))
        assert [(await client.response())[1] for _ in range(20)] == [b"/%d" % number for number in range(20)]
        client.close()


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    async def careful(peer: Peer) -> None:
        assert b"Expect: 100-continue" in await peer.head()
        await peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await peer.exactly(4)
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + body)

    async with asking(careful) as client:
        await client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await client.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"data")
        assert await client.response() == (200, b"data")


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        pytest.param(b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", id="HEAD"),
        pytest.param(b"GET", b"HTTP/1.1 204 No Content\r\n\r\n", id="204"),
        pytest.param(b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", id="304"),
    ],
)
async def test_answers_without_a_body_end_at_once(asked: bytes, answer: bytes) -> None:
    async def bodiless(peer: Peer) -> None:
        while await peer.head():
            await peer.send(answer)

    async with asking(bodiless) as client:
        for _ in range(3):
            await client.send(asked + b" / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await client.head() == answer


async def test_an_answer_that_ends_with_its_connection() -> None:
    async def old(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.0 200 OK\r\n\r\nall of it")

    async with asking(old) as client:
        await client.send(GET)
        assert await client.rest() == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"


async def test_a_backend_that_closes_after_each_answer_does_not_close_the_client() -> None:
    async def once(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")

    async with Backend(once) as backend, listening(backend) as port:
        client = await port.connect()
        for _ in range(3):
            assert await client.get() == (200, b"ok")
        assert backend.connections == 3
        client.close()


async def test_a_client_of_http_1_0_is_closed_after_its_answer() -> None:
    async with asking(saying("hello")) as client:
        await client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert (await client.rest()).endswith(b"Connection: close\r\n\r\nhello")


async def test_a_client_that_sends_no_more_still_hears_its_answer() -> None:
    async with asking(saying("hello")) as client:
        await client.send(GET)
        client.writer.write_eof()
        assert await client.response() == (200, b"hello")
        assert await client.rest() == b""


async def test_a_websocket_goes_through() -> None:
    async def upgrade(peer: Peer) -> None:
        head = await peer.head()
        assert b"Upgrade: websocket" in head
        assert b"connection: upgrade" in head.lower()
        await peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst")
        while data := await peer.reader.read(100):
            await peer.send(data.upper())

    async with Backend(upgrade) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert (await client.head()).startswith(b"HTTP/1.1 101 ")
        assert await client.exactly(5) == b"first"
        await client.send(b"\x81hello")
        assert await client.exactly(6) == b"\x81HELLO"
        assert port.in_flight == 1
        client.writer.write_eof()
        assert await client.rest() == b""
        client.close()
        await until(lambda: port.in_flight == 0)


@pytest.mark.parametrize(
    "preface",
    [
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="gRPC"),
        pytest.param(b"\x16\x03\x01\x02\x00", id="TLS"),
        pytest.param(b"something else entirely, without any end", id="other"),
    ],
)
async def test_what_is_not_http_1_goes_through_as_it_is(preface: bytes) -> None:
    async def echo(peer: Peer) -> None:
        while data := await peer.reader.read(1000):
            await peer.send(data)

    async with asking(echo) as client:
        await client.send(preface)
        assert await client.exactly(len(preface)) == preface
        await client.send(b"more")
        assert await client.exactly(4) == b"more"
        client.writer.write_eof()
        assert await client.rest() == b""


async def test_a_slow_client_holds_up_its_backend_and_a_slow_backend_its_client() -> None:
    size = 64 * 1024 * 1024
    sent = 0

    async def much(peer: Peer) -> None:
        nonlocal sent
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent < size:
            await peer.send(b"x" * 65536)
            sent += 65536
        await peer.rest()

    async with asking(much) as client:
        await client.send(GET)
        await client.head()
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < size / 2
        assert len(await client.exactly(size)) == size
