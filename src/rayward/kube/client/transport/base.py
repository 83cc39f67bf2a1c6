"""What a transport is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from rayward.kube.client.request import Request, Response


class ByteStream(Protocol):
    """An answer that comes in parts."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, looked up in lower case."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The parts as they arrive."""
        ...


class Transport(Protocol):
    """Carries requests. Answers of 400 and above are answers, not errors."""

    async def request(self, request: Request) -> Response:
        """Send and read the whole answer.

        Raises:
            NetworkError: No whole answer, or no credentials to ask with.
        """
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        """Send and read the answer in parts; ``request.seconds`` of silence are a TimedOut."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


class SyncByteStream(Protocol):
    """An answer that comes in parts."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, looked up in lower case."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """The parts as they arrive."""
        ...


class SyncTransport(Protocol):
    """The same for code that waits."""

    def request(self, request: Request) -> Response:
        """Send and read the whole answer."""
        ...

    def stream(self, request: Request) -> AbstractContextManager[SyncByteStream]:
        """Send and read the answer in parts."""
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...
