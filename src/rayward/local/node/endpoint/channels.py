"""Numbered channels to a client, over WebSocket or SPDY: the two ways in which Kubernetes carries several streams."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from rayward.kube.machinery.jsonvalue import Object, entries
from rayward.net.errors import ConnectionLost
from rayward.net.spdysession import Session, Stream

Send = Callable[[Object], Awaitable[None]]
Receive = Callable[[], Awaitable[Object]]

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
NAMES: Final = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}
SOCKET_PROTOCOLS: Final = (
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "base64.channel.k8s.io",
)
SPDY_PROTOCOLS: Final = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_STRUCTURED: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io")
_BASE64: Final = ("v4.base64.channel.k8s.io", "base64.channel.k8s.io")
_POLICY_VIOLATION: Final = 1008
_LINGER_SECONDS: Final = 10.0


class Channels(Protocol):
    """Numbered channels; reading gives all of them in turn."""

    protocol: str | None

    async def read(self) -> tuple[int, bytes] | None:
        """The next message: channel and data; ``CLOSE`` with the number of one that ended; None at the end of all."""
        ...

    async def write(self, channel: int, data: bytes) -> None:
        """Send on a channel; nobody may be listening."""
        ...

    async def close(self) -> None:
        """Say goodbye; what was written arrives."""
        ...


def tells_status(channels: Channels) -> bool:
    """Whether the error channel carries a Status, or only a text as in older protocols."""
    return channels.protocol is None or channels.protocol in _STRUCTURED


class SocketChannels:
    """Channels in one WebSocket: the first byte of each message is the channel's number."""

    def __init__(self, scope: Object, receive: Receive, send: Send) -> None:
        offered: Sequence[str] = entries(scope, "subprotocols")
        # the client's order counts, as with Kubernetes' wsstream
        self.protocol = next((name for name in offered if name in SOCKET_PROTOCOLS), None)
        self._known = self.protocol is not None or not offered
        self._receive = receive
        self._send = send
        self._open = True

    async def accept(self) -> bool:
        """Open the WebSocket; False where the client speaks none of our protocols, and the handshake is refused."""
        await self._receive()
        if not self._known:
            await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return False
        await self._send({"type": "websocket.accept", "subprotocol": self.protocol})
        return True

    async def read(self) -> tuple[int, bytes] | None:
        """The next message: channel and data; None at the end."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                self._open = False
                return None
            data = message.get("bytes")
            if data is None:
                data = (message.get("text") or "").encode()
            # the agreed protocol says what a message means, not the kind of frame it came in
            if self.protocol in _BASE64:
                data = _plain(data)
            if data:
                return data[0], bytes(data[1:])

    async def write(self, channel: int, data: bytes) -> None:
        """Send on a channel."""
        if not self._open:
            return
        if self.protocol in _BASE64:
            await self._send({"type": "websocket.send", "text": f"{channel}{base64.b64encode(data).decode()}"})
        else:
            await self._send({"type": "websocket.send", "bytes": bytes([channel]) + data})

    async def close(self) -> None:
        if self._open:
            self._open = False
            await self._send({"type": "websocket.close", "code": 1000})


def _plain(text: bytes) -> bytes:
    with contextlib.suppress(binascii.Error, ValueError):
        return bytes([text[0] - 48]) + base64.b64decode(text[1:]) if text else b""
    return b""


class SpdyChannels:
    """Channels as streams of a SPDY session, which the client opens and names."""

    def __init__(self, session: Session, streams: Mapping[int, Stream], protocol: str) -> None:
        self.protocol: str | None = protocol
        self._session = session
        self._streams = streams
        self._heard: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue(maxsize=1)
        inputs = [number for number in (STDIN, RESIZE) if number in streams]
        self._tasks = [asyncio.create_task(self._hear(number)) for number in inputs]
        self._tasks.append(asyncio.create_task(self._end()))

    async def read(self) -> tuple[int, bytes] | None:
        """The next message: channel and data; None at the end."""
        return await self._heard.get()

    async def write(self, channel: int, data: bytes) -> None:
        """Send on a channel, if the client has opened it."""
        stream = self._streams.get(channel)
        if stream is not None and data:
            with contextlib.suppress(ConnectionLost):
                await stream.write(data)

    async def close(self) -> None:
        """End all streams and let the client hang up: it may still be reading what we sent."""
        with contextlib.suppress(ConnectionLost):
            for stream in self._streams.values():
                await stream.finish()
            await self._session.ended(_LINGER_SECONDS)

    async def release(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hear(self, number: int) -> None:
        with contextlib.suppress(ConnectionLost):
            while data := await self._streams[number].read():
                await self._heard.put((number, data))
        await self._heard.put((CLOSE, bytes([number])))

    async def _end(self) -> None:
        await self._session.ended(None)
        await self._heard.put(None)


async def gather_streams(session: Session, wanted: set[int]) -> dict[int, Stream] | None:
    """The streams that a client opens, by channel, once all ``wanted`` are there; None if it leaves before."""
    streams: dict[int, Stream] = {}
    while not wanted <= set(streams):
        stream = await session.accept()
        if stream is None:
            return None
        number = NAMES.get(stream.headers.get("streamtype", ""))
        if number is None or number in streams:
            await stream.reset()
        else:
            streams[number] = stream
    return streams
