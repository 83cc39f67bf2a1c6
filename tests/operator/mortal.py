"""A client whose process dies at its k-th write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport

Moment = Literal["before", "after"]
Spared = Callable[[Request], bool]


def reads(request: Request) -> bool:
    """Whether a request changes nothing."""
    return request.method == "GET"


class MortalTransport:
    """Carries requests until the write that kills it: before that is sent, or after it was answered.

    Requests that are ``spared`` are carried and not counted. What was on its way in that moment still arrives, as it
    does when a process is killed.
    """

    def __init__(self, transport: Transport, write: int, moment: Moment, spared: Spared) -> None:
        self.died = asyncio.Event()
        self.writes = 0
        self._transport = transport
        self._write = write
        self._moment = moment
        self._spared = spared
        self._on_their_way = 0
        self._arrived = asyncio.Event()

    async def request(self, request: Request) -> Response:
        """Send, or die."""
        self._check()
        if self._spared(request):
            return await self._transport.request(request)
        self.writes += 1
        last = self.writes == self._write
        if last and self._moment == "before":
            self.died.set()
            self._check()
        self._on_their_way += 1
        try:
            answer = await self._transport.request(request)
        finally:
            self._on_their_way -= 1
            self._arrived.set()
        if last:
            self.died.set()
        self._check()
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        """Watch."""
        return self._transport.stream(request)

    async def close(self) -> None:
        """The transport is not ours to close."""

    async def settled(self) -> None:
        """Wait until what was on its way has arrived."""
        while self._on_their_way:
            self._arrived.clear()
            await self._arrived.wait()

    def _check(self) -> None:
        if self.died.is_set():
            raise asyncio.CancelledError


def mortal(client: Client, write: int, moment: Moment, spared: Spared = reads) -> tuple[Client, MortalTransport]:
    """A client over the connections of another that dies at its ``write``-th write; never of none."""
    transport = MortalTransport(client.transport, write, moment, spared)
    return Client(transport, namespace=client.namespace), transport
