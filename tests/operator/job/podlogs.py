"""Logs of pods, which a simulated kubelet does not have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from urllib.parse import parse_qs, urlsplit

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.net.errors import TimedOut


class PodLogs:
    """Carries requests, and answers those for logs as a kubelet does: so many lines, then so many bytes of them."""

    def __init__(self, transport: Transport, text: Callable[[], str], failures: int) -> None:
        self.reads = 0
        self._transport = transport
        self._text = text
        self._failures = failures

    async def request(self, request: Request) -> Response:
        """Send, or answer."""
        parts = urlsplit(request.target)
        if not parts.path.endswith("/log"):
            return await self._transport.request(request)
        self.reads += 1
        if self.reads <= self._failures:
            raise TimedOut("the kubelet did not answer")
        query = parse_qs(parts.query)
        lines = self._text().splitlines(keepends=True)[-int(query["tailLines"][0]) :]
        return Response(200, {}, "".join(lines).encode()[: int(query["limitBytes"][0])])

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        """Watch."""
        return self._transport.stream(request)

    async def close(self) -> None:
        """The transport is not ours to close."""


def logging(client: Client, text: Callable[[], str], failures: int = 0) -> tuple[Client, PodLogs]:
    """A client whose pods all say ``text``, after so many failures to read it."""
    transport = PodLogs(client.transport, text, failures)
    return Client(transport, namespace=client.namespace), transport
