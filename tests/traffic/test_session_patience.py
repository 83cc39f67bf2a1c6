"""How long HTTP clients are waited for, in ticks: nobody who reads, sends or waits is cut off."""

from __future__ import annotations

import asyncio

import pytest

from tests.traffic.world import GET, Backend, Handler, Peer, Port, listening, until

pytestmark = pytest.mark.anyio

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_EARLY = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nfull"
_MUCH = 16 * 1024 * 1024


async def _much(peer: Peer) -> None:
    await peer.head()
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _MUCH)
    await peer.send(b"x" * _MUCH)
    await peer.rest()


async def _answering_before_the_body(peer: Peer) -> None:
    while head := await peer.head():
        await peer.send(_EARLY if head.startswith(b"POST") else _OK)


def _post(headers: bytes = b"") -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100000\r\n\r\n" % headers + b"x" * 10_000


async def _until_only_the_client_is_waited_for(port: Port, client: Peer) -> None:
    """Until all of the last answer has left its backend, and a part of it waits for the client."""
    await until(lambda: len(port.sessions) == 1)
    near = port.session._client.transport
    near.set_write_buffer_limits(high=2 * _MUCH)
    await client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    await until(near.is_closing)
    assert near.get_write_buffer_size() > 0


async def test_a_client_that_pauses_before_the_end_of_its_last_answer_gets_all_of_it() -> None:
    async with Backend(_much) as backend, listening(backend) as port:
        client = await port.connect()
        await _until_only_the_client_is_waited_for(port, client)
        port.pass_ticks(300)
        await client.head()
        assert len(await client.rest()) == _MUCH
        client.close()


async def test_a_client_that_never_takes_the_end_of_its_last_answer_is_let_go() -> None:
    async with Backend(_much) as backend, listening(backend) as port:
        client = await port.connect()
        await _until_only_the_client_is_waited_for(port, client)
        port.pass_ticks(1000)
        await until(lambda: len(port.sessions) == 0)
        client.close()


def _held_back(until_then: asyncio.Event) -> Handler:
    async def slow(peer: Peer) -> None:
        while await peer.head():
            await until_then.wait()
            await peer.send(_OK)

    return slow


async def test_a_connection_is_kept_after_an_answer_that_took_long() -> None:
    held = asyncio.Event()
    async with Backend(_held_back(held)) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(GET)
        await until(lambda: port.in_flight == 1)
        port.pass_ticks(1000)
        held.set()
        assert await client.response() == (200, b"ok")
        port.pass_ticks(1)
        assert await client.get() == (200, b"ok")
        client.close()


async def test_the_time_for_the_next_head_begins_with_the_end_of_the_last_answer() -> None:
    held = asyncio.Event()
    async with Backend(_held_back(held)) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(GET + GET[:10])
        await until(lambda: port.in_flight == 1)
        port.pass_ticks(100)
        held.set()
        assert await client.response() == (200, b"ok")
        port.pass_ticks(1)
        await client.send(GET[10:])
        assert await client.response() == (200, b"ok")
        client.close()


async def test_a_client_may_finish_its_body_after_an_early_answer_and_ask_again() -> None:
    async with Backend(_answering_before_the_body) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(_post())
        assert await client.response() == (413, b"full")
        await until(lambda: port.in_flight == 0)
        for _ in range(8):
            port.pass_ticks(20)
            await client.send(b"x" * 10_000)
            await until(lambda: port.session._seen == port.sessions.tick)
        await client.send(b"x" * 10_000 + GET)
        assert await client.response() == (200, b"ok")
        assert await client.get() == (200, b"ok")
        client.close()


async def test_a_client_that_keeps_the_rest_of_its_body_after_an_early_answer_is_let_go() -> None:
    async with Backend(_answering_before_the_body) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(_post())
        assert await client.response() == (413, b"full")
        await until(lambda: port.in_flight == 0)
        port.pass_ticks(40)
        assert await client.rest() == b""
        port.pass_ticks(40)
        await until(lambda: len(port.sessions) == 0)
        client.close()


@pytest.mark.parametrize(
    "header",
    [pytest.param(b"Connection: close\r\n", id="close"), pytest.param(b"Expect: 100-continue\r\n", id="expect")],
)
async def test_an_early_answer_to_one_who_may_say_no_more_is_the_last(header: bytes) -> None:
    async with Backend(_answering_before_the_body) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(_post(header))
        assert await client.response() == (413, b"full")
        assert await client.rest() == b""
        for _ in range(4):
            port.pass_ticks(20)
            await client.send(b"x" * 10_000)
            await until(lambda: port.session._seen == port.sessions.tick)
        client.close()


async def test_a_client_that_is_gone_without_a_word_takes_its_request_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(peer: Peer) -> None:
        await peer.head()
        await peer.rest()

    async with Backend(silent) as backend, listening(backend) as port:
        client = await port.connect()
        await client.send(GET)
        await until(lambda: port.in_flight == 1)
        port.pass_ticks(100)
        assert port.in_flight == 1
        monkeypatch.setattr("rayward.local.traffic.http.downstream.lost", lambda _: True)
        port.pass_ticks(1)
        await until(lambda: port.in_flight == 0 and len(port.sessions) == 0)
        client.close()
