"""HTTP through a port where a backend, a client or what they say is broken: nothing is lost, nothing sent twice."""

from __future__ import annotations

import asyncio

import pytest

from tests.traffic.world import GET, Backend, Peer, asking, listening, saying, until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_backend_that_closed_its_idle_connection_is_asked_again(method: str) -> None:
    closing = asyncio.Event()

    async def impatient(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await closing.wait()

    async with asking(impatient) as client:
        for _ in range(50):
            closing.clear()
            await client.send(f"{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            assert await client.response() == (200, b"ok")
            # The next request races the end of the connection.
            closing.set()


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
        peer.reset()

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
        answer = asyncio.create_task(client.get())
        await asyncio.sleep(0)
        port.behind(new)
        assert await answer == (200, b"new")
        client.close()


async def test_an_answer_that_breaks_off_breaks_the_client_off() -> None:
    async def broken(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")

    async with Backend(broken) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(GET)
        with pytest.raises(ConnectionResetError):
            await client.rest()
        await until(lambda: port.in_flight == 0)
        client.close()


async def test_an_answer_that_is_none_is_a_bad_gateway() -> None:
    async def gibberish(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"SSH-2.0-server\r\n\r\n")

    async with asking(gibberish) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await client.response()


async def test_a_client_that_leaves_takes_its_request_with_it() -> None:
    gone = asyncio.Event()

    async def waiting(peer: Peer) -> None:
        await peer.head()
        await peer.rest()
        gone.set()

    async with Backend(waiting) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(GET)
        await until(lambda: port.in_flight == 1)
        client.close()
        async with asyncio.timeout(30):
            await gone.wait()
        await until(lambda: port.in_flight == 0)


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
