"""What the server takes from a client before the application is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rayward.net.server import Application, Server, listen
from rayward.net.websocket import WebSocket

pytestmark = pytest.mark.anyio


async def _hello(scope: dict[str, Any], receive: Any, send: Any) -> None:
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    text = f"{scope['method']} {size}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})


@asynccontextmanager
async def _serving(application: Application) -> AsyncGenerator[int]:
    listener = listen("127.0.0.1", 0)
    server = Server(application, listener, websocket=WebSocket)
    await server.start()
    yield listener.getsockname()[1]
    await server.stop()


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    async with _serving(_hello) as port:
        yield port


async def _talk(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 60)
    finally:
        writer.close()


async def test_a_head_without_end_is_refused(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nx: ")
        # In small parts, and no more once there is an answer: a client that goes on sending may lose it to a reset.
        answer = asyncio.ensure_future(reader.read(13))
        for _ in range(2 << 8):
            writer.write(b"a" * 4096)
            await asyncio.wait((answer,), timeout=0.01)
            if answer.done():
                break
        assert await asyncio.wait_for(answer, 60) == b"HTTP/1.1 431 "
    finally:
        writer.close()


async def test_a_body_is_no_part_of_the_head(port: int) -> None:
    size = 2 << 20
    head = f"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n".encode()
    last = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    answer = await _talk(port, head, b"a" * size, last)
    assert f"POST {size}".encode() in answer
    assert b"GET 0" in answer


async def test_what_stands_behind_a_body_is_no_header() -> None:
    async def names(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        text = b",".join(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
        await send({"type": "http.response.body", "body": text})

    async with _serving(names) as port:
        head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        answer = await _talk(port, head + b"1\r\na\r\n0\r\nimpersonate-user: eve\r\nauthorization: Bearer x\r\n\r\n")
    assert answer.endswith(b"host,connection,transfer-encoding")


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nhost: x\r\n"])
async def test_a_head_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr("rayward.net.server._HEAD_SECONDS", 0.1)
    async with _serving(_hello) as port:
        assert await _talk(port, begun) == b""
        whole = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(whole)
        assert b"GET 0" in await asyncio.wait_for(reader.readuntil(b"GET 0"), 60)
        # the next head begins and stops
        writer.write(whole[:-2])
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()


async def test_a_websocket_is_not_compressed() -> None:
    head = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    offered = b"sec-websocket-key: c2l4dGVlbiBsZXR0ZXJzIQ==\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n"

    async def accepting(_scope: dict[str, Any], _receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close"})

    async with _serving(accepting) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + offered)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert b"extensions" not in answer.lower()
