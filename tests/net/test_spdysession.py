"""Streams in one SPDY connection: opened, half-closed, reset, and held back by a reader that is slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from rayward.net import spdy
from rayward.net.duplex import Duplex
from rayward.net.errors import ConnectionLost
from rayward.net.spdysession import Session, Stream
from tests.net.wire import pair

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _sessions() -> AsyncGenerator[tuple[Session, Session]]:
    async with (
        pair() as (near, far),
        Session(near, server=False) as client,
        Session(far, server=True) as server,
    ):
        yield client, server


async def _accepted(session: Session) -> Stream:
    stream = await session.accept()
    assert stream is not None
    return stream


async def _all(stream: Stream) -> bytes:
    parts: list[bytes] = []
    while part := await stream.read():
        parts.append(part)
    return b"".join(parts)


async def test_a_stream_carries_both_ways_and_half_closes() -> None:
    async with _sessions() as (client, server):
        asked = await client.open([("streamType", "data"), ("port", "80")])
        given = await _accepted(server)
        assert given.headers == {"streamtype": "data", "port": "80"}
        await asked.write(b"question")
        await asked.finish()
        assert await _all(given) == b"question"
        await given.write(b"answer")
        await given.finish()
        assert await _all(asked) == b"answer"
        assert asked.over
        assert given.over


async def test_many_streams_at_once_do_not_mix() -> None:
    async def echo(server: Session) -> None:
        while (stream := await server.accept()) is not None:
            await stream.write(await _all(stream))
            await stream.finish()

    async def ask(client: Session, number: int) -> bool:
        stream = await client.open([("number", str(number))])
        said = str(number).encode() * 20_000
        await stream.write(said)
        await stream.finish()
        return await _all(stream) == said

    async with _sessions() as (client, server):
        echoing = asyncio.create_task(echo(server))
        assert all(await asyncio.gather(*(ask(client, number) for number in range(50))))
        echoing.cancel()


async def test_a_reset_ends_both_directions_and_only_that_stream() -> None:
    async with _sessions() as (client, server):
        first, second = await client.open([]), await client.open([])
        given, other = await _accepted(server), await _accepted(server)
        await first.reset()
        with pytest.raises(ConnectionLost):
            await given.read()
        with pytest.raises(ConnectionLost):
            await given.write(b"too late")
        await second.write(b"still here")
        assert await other.read() == b"still here"


async def test_what_was_sent_before_a_reset_is_still_read() -> None:
    async with _sessions() as (client, server):
        stream = await client.open([])
        given = await _accepted(server)
        await stream.write(b"last words")
        await stream.reset()
        assert await given.read() == b"last words"
        with pytest.raises(ConnectionLost):
            await given.read()


async def test_a_slow_reader_holds_the_writer_back() -> None:
    async with _sessions() as (client, server):
        stream = await client.open([])
        given = await _accepted(server)
        size = 32 << 20
        writing = asyncio.create_task(stream.write(b"x" * size))
        done, _ = await asyncio.wait((writing,), timeout=0.3)
        assert not done, "far more was taken than anybody reads"
        seen = 0
        while seen < size:
            seen += len(await given.read())
        await writing


async def test_a_peer_that_leaves_ends_all_streams() -> None:
    async with pair() as (near, far), Session(far, server=True) as server:
        async with Session(near, server=False) as client:
            await client.open([])
            given = await _accepted(server)
        with pytest.raises(ConnectionLost):
            await given.read()
        assert await server.accept() is None
        assert await server.accept() is None
        with pytest.raises(ConnectionLost):
            await server.open([])


async def _frames(connection: Duplex, count: int) -> list[spdy.Frame]:
    decoder, heard = spdy.Decoder(), list[spdy.Frame]()
    while len(heard) < count:
        data = await connection.read()
        assert data, heard
        heard += decoder.feed(data)
    return heard


async def test_a_ping_comes_back_and_an_answer_to_nothing_does_not() -> None:
    encoder = spdy.Encoder()
    async with pair() as (near, far), Session(far, server=True):
        await near.write(encoder.encode(spdy.Ping(2)) + encoder.encode(spdy.Ping(7)))
        assert await _frames(near, 1) == [spdy.Ping(7)]


@pytest.mark.parametrize("number", [2, 1], ids=["of the wrong side", "used before"])
async def test_a_stream_that_may_not_be_opened_ends_the_connection(number: int) -> None:
    encoder = spdy.Encoder()
    async with pair() as (near, far), Session(far, server=True) as server:
        await near.write(encoder.encode(spdy.Open(1, ())))
        await near.write(encoder.encode(spdy.Open(number, ())))
        assert await _frames(near, 2) == [spdy.Reply(1), spdy.GoAway(1, spdy.PROTOCOL_ERROR)]
        await server.ended(None)


async def test_nonsense_ends_the_connection() -> None:
    async with pair() as (near, far), Session(far, server=True) as server:
        await near.write(b"\x80\x02\xff\xff" * 10)
        await server.ended(None)
        assert await server.accept() is None


async def test_frames_about_unknown_streams_are_let_pass() -> None:
    encoder = spdy.Encoder()
    stray = [spdy.Data(9, b"x"), spdy.Reset(9, 1), spdy.Reply(9), spdy.MoreHeaders(9, ()), spdy.Window(9, 1)]
    async with pair() as (near, far), Session(far, server=True):
        for frame in (*stray, spdy.Ping(1)):
            await near.write(encoder.encode(frame))
        assert await _frames(near, 1) == [spdy.Ping(1)]


async def test_a_stream_can_begin_with_its_end() -> None:
    async with pair() as (near, far), Session(far, server=True) as server:
        await near.write(spdy.Encoder().encode(spdy.Open(1, (), fin=True)))
        assert await (await _accepted(server)).read() == b""
