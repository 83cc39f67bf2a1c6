"""Connections through a port that knows nothing of what is said on them."""

from __future__ import annotations

import asyncio

import pytest

from tests.traffic.world import Backend, Peer, listening, until

pytestmark = pytest.mark.anyio


async def _echo_all(peer: Peer) -> None:
    said = await peer.rest()
    await peer.send(b"you said " + said)


async def test_each_direction_ends_on_its_own() -> None:
    async with Backend(_echo_all) as backend, listening(backend, http=False) as port:
        client = await port.connect()
        await client.send(b"hello")
        client.writer.write_eof()
        assert await client.rest() == b"you said hello"
        client.close()
        await until(lambda: port.in_flight == 0)


async def test_a_backend_may_speak_first() -> None:
    async def greeting(peer: Peer) -> None:
        await peer.send(b"welcome")
        await peer.rest()

    async with Backend(greeting) as backend, listening(backend, http=False) as port:
        client = await port.connect()
        assert await client.exactly(7) == b"welcome"
        client.close()


async def test_connections_are_spread() -> None:
    async def waiting(peer: Peer) -> None:
        await peer.send(b".")
        await peer.rest()

    async with Backend(waiting) as one, Backend(waiting) as two, listening(one, two, http=False) as port:
        clients = [await port.connect() for _ in range(6)]
        for client in clients:
            await client.exactly(1)
        assert (one.connections, two.connections) == (3, 3)


async def test_without_endpoints_a_connection_is_reset() -> None:
    async with listening(http=False) as port:
        client = await port.connect()
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_a_backend_that_refuses_is_passed_over() -> None:
    async with Backend(_echo_all) as one, Backend(_echo_all) as two:
        await one.stop()
        async with listening(one, two, http=False) as port:
            for _ in range(4):
                client = await port.connect()
                client.writer.write_eof()
                assert await client.rest() == b"you said "


async def test_a_reset_on_one_side_is_a_reset_on_the_other() -> None:
    async def breaking(peer: Peer) -> None:
        await peer.exactly(1)
        # Closing with something unread is a reset.
        peer.abort()

    async with Backend(breaking) as backend, listening(backend, http=False) as port:
        client = await port.connect()
        await client.send(b"x" * 1_000_000)
        with pytest.raises(ConnectionError):
            await client.rest()
        await until(lambda: port.in_flight == 0)


async def test_much_goes_through_without_being_held() -> None:
    size = 32 * 1024 * 1024
    reading = asyncio.Event()
    got = 0

    async def slow(peer: Peer) -> None:
        nonlocal got
        await reading.wait()
        while data := await peer.reader.read(1 << 20):
            got += len(data)
        await peer.send(b"done")

    async with Backend(slow) as backend, listening(backend, http=False) as port:
        client = await port.connect()
        sending = asyncio.create_task(client.send(b"x" * size))
        done, _ = await asyncio.wait((sending,), timeout=0.3)
        assert not done
        reading.set()
        await sending
        client.writer.write_eof()
        assert await client.rest() == b"done"
        assert got == size


async def test_established_connections_stay_with_a_backend_that_left() -> None:
    async with Backend(_echo_all) as one, Backend(_echo_all) as two, listening(one, http=False) as port:
        client = await port.connect()
        await client.send(b"a")
        await until(lambda: one.connections == 1)
        port.behind(two)
        client.writer.write_eof()
        assert await client.rest() == b"you said a"
