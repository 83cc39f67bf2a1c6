"""What the kernel tells of connections."""

from __future__ import annotations

import asyncio

import pytest

from rayward.local.traffic.kernel import Signs, is_lost, lost, read
from tests.traffic.world import HOST, Backend, Peer, listening, until


@pytest.mark.parametrize(
    ("signs", "gone"),
    [
        pytest.param(Signs(5, 6000), True, id="asked-often-and-silent"),
        pytest.param(Signs(0, 600_000), False, id="idle"),
        pytest.param(Signs(1, 600_000), False, id="idle-and-one-packet-was-lost"),
        pytest.param(Signs(5, 1000), False, id="silent-for-a-moment"),
    ],
)
def test_who_is_gone_without_a_word(signs: Signs, gone: bool) -> None:
    assert is_lost(signs) == gone


def test_a_kernel_that_says_too_little_is_not_believed() -> None:
    assert read(bytes(40)) is None


@pytest.mark.anyio
async def test_somebody_who_does_not_read_is_there() -> None:
    held = asyncio.Event()

    async def deaf(_: Peer) -> None:
        await held.wait()

    async with Backend(deaf) as backend:
        _, writer = await asyncio.open_connection(HOST, backend.port)
        writer.write(b"x" * 1000)
        assert not lost(writer.transport)
        held.set()
        writer.close()
        await writer.wait_closed()
        assert not lost(writer.transport)


@pytest.mark.anyio
@pytest.mark.parametrize("http", [True, False])
async def test_what_is_spliced_ends_when_one_side_is_gone(monkeypatch: pytest.MonkeyPatch, http: bool) -> None:
    async def echo(peer: Peer) -> None:
        await peer.send(await peer.exactly(4))
        await peer.rest()

    async with Backend(echo) as backend, listening(backend, http=http) as port:
        client = await port.connect()
        await client.send(b"\x16raw")
        assert await client.exactly(4) == b"\x16raw"
        port.pass_ticks(100)
        assert port.in_flight == 1
        monkeypatch.setattr("rayward.local.traffic.splice.lost", lambda _: True)
        port.pass_ticks(1)
        with pytest.raises(ConnectionResetError):
            await client.rest()
        await until(lambda: port.in_flight == 0 and len(port.sessions) == 0)
        client.close()
