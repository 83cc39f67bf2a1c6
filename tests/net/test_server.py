"""What the server takes from a client before the application is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rayward.net.server import Server, listen

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


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    listener = listen("127.0.0.1", 0)
    server = Server(_hello, listener)
    await server.start()
    yield listener.getsockname()[1]
    await server.stop()


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
