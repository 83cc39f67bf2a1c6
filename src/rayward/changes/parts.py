"""Answers that come in parts, read so that whoever waits for one can look at something else meanwhile.

The reading goes on beside the waiting, in a task or a thread: to give up a read half-way would lose the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from types import TracebackType
from typing import Final, Self

from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.net.errors import NetworkError

_AHEAD: Final = 64
"""How many parts are read before somebody takes them."""


class Parts:
    """One stream on the event loop."""

    def __init__(self, client: Client, request: Request) -> None:
        self._client, self._request = client, request
        self._queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(_AHEAD)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def next(self, seconds: float) -> bytes | None:
        """The next part; empty where none came in time, None at the end."""
        try:
            found = await asyncio.wait_for(self._queue.get(), seconds)
        except TimeoutError:
            return b""
        if isinstance(found, Exception):
            raise found
        return found

    async def _read(self) -> None:
        try:
            async with self._client.stream(self._request) as stream:
                async for part in stream:
                    await self._queue.put(part)
            await self._queue.put(None)
        except (ApiError, NetworkError) as error:
            await self._queue.put(error)


class BlockingParts:
    """One stream, read by a thread; the thread ends with the stream, or when the server is silent too long."""

    def __init__(self, client: SyncClient, request: Request) -> None:
        self._client, self._request = client, request
        self._queue: queue.Queue[bytes | Exception | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True, name=f"stream {request.target}").start()

    def next(self, seconds: float) -> bytes | None:
        """The next part; empty where none came in time, None at the end."""
        try:
            found = self._queue.get(timeout=seconds)
        except queue.Empty:
            return b""
        if isinstance(found, Exception):
            raise found
        return found

    def _read(self) -> None:
        try:
            with self._client.stream(self._request) as stream:
                for part in stream:
                    self._queue.put(part)
            self._queue.put(None)
        except (ApiError, NetworkError) as error:
            self._queue.put(error)
        except (OSError, ValueError) as error:
            # closed under the reader
            self._queue.put(NetworkError(str(error)))
