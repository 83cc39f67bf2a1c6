"""HTTP through a port: each request to a backend of its own, and nothing lost on the way."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from rayward.local.traffic.route import Group
from tests.traffic.world import Backend, Peer, listening, saying, until

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
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: one.connections == 1)
        other = await port.connect()
        for _ in range(10):
            assert await other.get() == (200, b"fast")
        held.set()
        for peer in (*clients, other):
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
        await slow.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
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

    async with Backend(echo) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        await client.head()
        for word in (b"first", b"second"):
            chunk = b"%x\r\n%s\r\n" % (len(word), word)
            await client.send(chunk)
            assert await client.exactly(len(chunk)) == chunk
        await client.send(b"0\r\nX-Sum: 11\r\n\r\n")
        assert await client.until(b"\r\n\r\n") == b"0\r\nX-Sum: 11\r\n\r\n"
        client.close()


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

    async with Backend(careful) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await client.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"data")
        assert await client.response() == (200, b"data")
        client.close()


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

    async with Backend(bodiless) as backend, listening(backend) as port:
        client = await port.connect()
        for _ in range(3):
            await client.send(asked + b" / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await client.head() == answer
        client.close()


async def test_an_answer_that_ends_with_its_connection() -> None:
    async def old(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.0 200 OK\r\n\r\nall of it")

    async with Backend(old) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await client.rest() == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"
        client.close()


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
    async with Backend(saying("hello")) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert (await client.rest()).endswith(b"Connection: close\r\n\r\nhello")
        client.close()


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

    async with Backend(echo) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(preface)
        assert await client.exactly(len(preface)) == preface
        await client.send(b"more")
        assert await client.exactly(4) == b"more"
        client.writer.write_eof()
        assert await client.rest() == b""
        client.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_backend_that_closed_its_idle_connection_is_asked_again(method: str) -> None:
    closing = asyncio.Event()

    async def impatient(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await closing.wait()

    async with Backend(impatient) as backend, listening(backend) as port:
        client = await port.connect()
        for _ in range(50):
            closing.clear()
            await client.send(f"{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            assert await client.response() == (200, b"ok")
            # The next request races the end of the connection.
            closing.set()
        client.close()


async def test_a_post_that_was_read_but_not_answered_is_not_sent_twice() -> None:
    asked: list[bytes] = []

    async def dying(peer: Peer) -> None:
        asked.append(await peer.head())
        await peer.exactly(2)

    async with Backend(dying) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
        status, body = await client.response()
        assert (status, len(asked)) == (502, 1)
        assert body == f"service default/web: pod-{backend.port}: it closed the connection without an answer\n".encode()
        client.close()


async def test_a_post_that_was_never_read_goes_to_another_backend() -> None:
    async def deaf(peer: Peer) -> None:
        # Data is there, nobody has read it: closing resets.
        made = peer.writer.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.abort()

    async with Backend(deaf) as one, Backend(saying("ok")) as two, listening(one, two) as port:
        client = await port.connect()
        for _ in range(6):
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            assert await client.response() == (200, b"ok")
        client.close()


async def test_a_backend_that_refuses_is_passed_over() -> None:
    async with Backend(saying("never")) as one, Backend(saying("ok")) as two:
        await one.stop()
        async with listening(one, two) as port:
            client = await port.connect()
            for _ in range(6):
                assert await client.get() == (200, b"ok")
            client.close()


async def test_a_service_without_endpoints_says_so_at_once() -> None:
    async with listening() as port:
        client = await port.connect()
        assert await client.get() == (503, b"service default/web: it has no ready endpoint\n")
        assert await client.rest() == b""
        client.close()


async def test_a_gap_between_two_backends_is_waited_out() -> None:
    async with Backend(saying("old")) as old, Backend(saying("new")) as new, listening(old) as port:
        client = await port.connect()
        assert await client.get() == (200, b"old")
        port.behind()
        asking = asyncio.create_task(client.get())
        await asyncio.sleep(0)
        port.behind(new)
        assert await asking == (200, b"new")
        client.close()


async def test_an_answer_that_breaks_off_breaks_the_client_off() -> None:
    async def broken(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")

    async with Backend(broken) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            await client.rest()
        await until(lambda: port.in_flight == 0)
        client.close()


async def test_an_answer_that_is_none_is_a_bad_gateway() -> None:
    async def gibberish(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"SSH-2.0-server\r\n\r\n")

    async with Backend(gibberish) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await client.response()
        client.close()


async def test_a_client_that_leaves_takes_its_request_with_it() -> None:
    gone = asyncio.Event()

    async def waiting(peer: Peer) -> None:
        await peer.head()
        await peer.rest()
        gone.set()

    async with Backend(waiting) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: port.in_flight == 1)
        client.close()
        async with asyncio.timeout(30):
            await gone.wait()
        await until(lambda: port.in_flight == 0)


async def test_a_client_that_sends_no_more_still_hears_its_answer() -> None:
    async with Backend(saying("hello")) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        client.writer.write_eof()
        assert await client.response() == (200, b"hello")
        assert await client.rest() == b""
        client.close()


async def test_an_early_answer_reaches_a_client_that_still_sends() -> None:
    async def full(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nfull")
        await peer.rest()

    async with Backend(full) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)
        assert await client.response() == (413, b"full")
        await client.send(b"x" * 1000)
        assert await client.rest() == b""
        client.close()


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

    async with Backend(much) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.head()
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < size / 2
        assert len(await client.exactly(size)) == size
        client.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400, id="no-colon"),
        pytest.param(b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, id="space-before-colon"),
        pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400, id="folded"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, id="both"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="two-lengths"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, id="negative"),
        pytest.param(b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, id="encoding"),
        pytest.param(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, id="bad-chunk"),
        pytest.param(b"CONNECT x:1 HTTP/1.1\r\n\r\n", 501, id="CONNECT"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"x" * 70000 + b"\r\n", 431, id="large"),
    ],
)
async def test_what_could_be_read_in_two_ways_is_refused(head: bytes, status: int) -> None:
    async with Backend(saying("never")) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(head)
        assert (await client.response())[0] == status
        assert await client.rest() == b""
        assert backend.connections == 0
        client.close()


async def test_a_head_that_does_not_come_is_not_waited_for() -> None:
    async with Backend(saying("never")) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(b"GET / HT")
        await until(lambda: len(port.sessions) == 1)
        await asyncio.sleep(0)
        for tick in range(100):
            for session in list(port.sessions._all):
                session.expire(tick)
            await asyncio.sleep(0)
        assert (await client.response())[0] == 408
        client.close()


async def test_more_clients_than_there_is_room_for_are_turned_away() -> None:
    async with Backend(saying("hello")) as backend, listening(backend, most=2) as port:
        clients = [await port.connect() for _ in range(2)]
        for client in clients:
            assert await client.get() == (200, b"hello")
        late = await port.connect()
        assert (await late.response())[0] == 503
        clients[0].close()
        await until(lambda: len(port.sessions) == 1)
        again = await port.connect()
        assert await again.get() == (200, b"hello")
        for peer in (*clients, late, again):
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
