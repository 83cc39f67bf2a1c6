"""Sockets to backends."""

from __future__ import annotations

import socket

import pytest

from rayward.local.traffic.place import Host, connect, listen
from tests.traffic.world import HOST


@pytest.mark.anyio
async def test_a_connection_to_a_backend_notices_that_it_is_gone_without_a_word() -> None:
    with (
        await listen(Host(), "tcp", HOST, 0) as backend,
        await connect(Host(), "tcp", HOST, backend.getsockname()[1], 30) as made,
    ):
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle, pause, count = (
            made.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
    assert idle + pause * count < 10


@pytest.mark.anyio
async def test_a_connection_of_a_client_notices_that_it_is_gone_without_a_word() -> None:
    with await listen(Host(), "tcp", HOST, 0) as frontend, socket.create_connection(frontend.getsockname()):
        frontend.setblocking(True)
        accepted, _ = frontend.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            idle, pause, count = (
                accepted.getsockopt(socket.IPPROTO_TCP, option)
                for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            )
    assert idle + pause * count <= 60


@pytest.mark.anyio
async def test_nobody_is_there() -> None:
    with await listen(Host(), "tcp", HOST, 0) as backend:
        port = backend.getsockname()[1]
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await connect(Host(), "tcp", HOST, port, 30)
