"""The demo's load counts what was lost, and nothing else."""

from __future__ import annotations

import pytest
from demo.load import Load

from tests.traffic.world import HOST, Backend, Peer, saying, until

pytestmark = pytest.mark.anyio


async def _close(load: Load) -> None:
    for _, writer in load._idle:
        writer.close()
        await writer.wait_closed()


async def test_a_kept_connection_that_was_closed_while_idle_is_not_used() -> None:
    async def once(peer: Peer) -> None:
        await peer.head()
        await peer.send(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"hello": "0"}')

    async with Backend(once) as backend:
        load = Load(HOST, backend.port)
        for _ in range(3):
            await load._one(0)
            await until(lambda: all(reader.at_eof() for reader, _ in load._idle))
        assert (load.tally.lost, load.tally.answered.total(), backend.connections) == ([], 3, 3)
        await _close(load)


async def test_a_kept_connection_that_stands_is_used_again() -> None:
    async with Backend(saying('{"hello": "0"}')) as backend:
        load = Load(HOST, backend.port)
        for _ in range(3):
            await load._one(0)
        assert (load.tally.lost, load.tally.answered.total(), backend.connections) == ([], 3, 1)
        await _close(load)


async def test_an_answer_without_an_end_is_lost() -> None:
    async def endless(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000)

    async with Backend(endless) as backend:
        load = Load(HOST, backend.port)
        await load._one(0)
        assert len(load.tally.lost) == 1
