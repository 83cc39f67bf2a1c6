"""A watch over a WebSocket: the same events as over HTTP, each a frame. fabric8 opens all its watches so."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from rayward.local.apiserver.request import Stream
from rayward.local.apiserver.verbs.watch import PROTOBUF_STREAM

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def unacceptable(origin: bytes | None, protocols: Sequence[str]) -> int:
    """The code with which kube-apiserver refuses the handshake; 0: it does not."""
    if not origin:
        return 403
    return 400 if len(protocols) > 1 else 0


async def turn_away(code: int, receive: Receive, send: Send) -> None:
    """Refuse a handshake without a word."""
    await receive()
    await send({"type": "websocket.http.response.start", "status": code, "headers": [(b"content-length", b"0")]})
    await send({"type": "websocket.http.response.body", "body": b""})


async def carry(stream: Stream, protocols: Sequence[str], receive: Receive, send: Send) -> None:
    """Send all events until one side ends it; what the client says is not heard."""
    await receive()
    await send({"type": "websocket.accept", "subprotocol": protocols[0] if protocols else None})

    async def pump() -> None:
        async for chunk in stream.chunks:
            if stream.content_type == PROTOBUF_STREAM:
                # a frame has a length of its own
                await send({"type": "websocket.send", "bytes": chunk[4:]})
                continue
            for line in chunk.splitlines(keepends=True):
                await send({"type": "websocket.send", "text": line.decode()})

    async def leave() -> None:
        while (await receive())["type"] != "websocket.disconnect":
            pass

    pumping, leaving = asyncio.ensure_future(pump()), asyncio.ensure_future(leave())
    try:
        await asyncio.wait({pumping, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (pumping, leaving):
            task.cancel()
        await asyncio.gather(pumping, leaving, return_exceptions=True)
        with contextlib.suppress(RuntimeError):
            # the client may have closed first
            await send({"type": "websocket.close", "code": 1000})
