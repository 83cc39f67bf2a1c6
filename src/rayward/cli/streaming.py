"""Streams into pods: numbered channels in one WebSocket, on the asynchronous client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from rayward.kube.client.access import Access
from rayward.kube.client.paths import object_path
from rayward.kube.client.transport.aio import AioTransport
from rayward.kube.core.resource import PODS
from rayward.net.client import WebSocket

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255


class Channels:
    """One connection, several streams."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    @property
    def can_close_input(self) -> bool:
        """Whether the other side can be told that a channel has ended."""
        return self._socket.protocol == "v5.channel.k8s.io"

    async def send(self, channel: int, data: bytes) -> None:
        """Send on one channel."""
        await self._socket.send(bytes([channel]) + data)

    async def close(self) -> None:
        await self._socket.close()

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        """Channel and data of each message, until the other side closes."""
        async for message in self._socket:
            data = message.encode() if isinstance(message, str) else message
            if data:
                yield data[0], data[1:]


@asynccontextmanager
async def into_pod(
    access: Access, namespace: str, pod: str, kind: str, query: Sequence[tuple[str, str]], protocols: tuple[str, ...]
) -> AsyncGenerator[Channels]:
    """Open ``exec`` or ``portforward`` of a pod.

    Raises:
        NetworkError: The server refused or is gone.
    """
    transport = AioTransport(access)
    try:
        target = f"{object_path(PODS, namespace, pod, kind)}?{urlencode(query)}"
        async with transport.websocket(target, protocols) as socket:
            yield Channels(socket)
    finally:
        await transport.close()
