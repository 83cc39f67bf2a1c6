"""An API server that fails every tenth time, in every way it can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Final

import orjson

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.net.errors import NetworkError, TimedOut

_STATUSES: Final = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}
_SLOW_SECONDS: Final = 0.3


class FaultyTransport:
    """Refuses, loses answers, is slow, drops watches and forgets versions, each with the same small chance."""

    def __init__(self, transport: Transport, chance: float, random: Random) -> None:
        self.faults = 0
        self._transport = transport
        self._chance = chance
        self._random = random

    async def request(self, request: Request) -> Response:
        """Send, or fail."""
        if self._random.random() >= self._chance:
            return await self._transport.request(request)
        self.faults += 1
        kinds = ["refused", "lost", "slow"] if request.method != "GET" else ["refused", "slow"]
        kind = self._random.choice(kinds)
        if kind == "refused":
            # A read is never in conflict.
            codes = (429, 500) if request.method == "GET" else tuple(_STATUSES)
            return _refusal(self._random.choice(codes))
        if kind == "slow":
            await asyncio.sleep(_SLOW_SECONDS)
            return await self._transport.request(request)
        # The server acts, and nobody hears of it.
        await self._transport.request(request)
        raise TimedOut("the answer was lost")

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        """Watch, for a while."""
        return self._stream(request)

    async def close(self) -> None:
        """The transport is not ours to close."""

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        if self._random.random() < self._chance:
            self.faults += 1
            gone = {
                "type": "ERROR",
                "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"},
            }
            yield _Lines([orjson.dumps(gone) + b"\n"])
            return
        async with self._transport.stream(request) as stream:
            yield _Dropping(stream, self)

    def drops(self) -> bool:
        """Whether a watch ends now."""
        dropped = self._random.random() < self._chance
        self.faults += dropped
        return dropped


class _Lines:
    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts
        self.status = 200
        self.headers: Mapping[str, str] = {}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


class _Dropping:
    """A watch that is cut off in the middle of a line."""

    def __init__(self, stream: ByteStream, faults: FaultyTransport) -> None:
        self._stream = stream
        self._faults = faults

    @property
    def status(self) -> int:
        return self._stream.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._stream.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            if self._faults.drops():
                yield part[: len(part) // 2]
                raise NetworkError("the connection was reset")
            yield part


def _refusal(code: int) -> Response:
    reason = _STATUSES[code]
    status = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": f"injected {reason}"}
    return Response(code, {"content-type": "application/json"}, orjson.dumps(status))


def faulty(client: Client, chance: float, seed: int) -> tuple[Client, FaultyTransport]:
    """A client over the connections of another, on a bad day."""
    transport = FaultyTransport(client.transport, chance, Random(seed))
    return Client(transport, namespace=client.namespace), transport
