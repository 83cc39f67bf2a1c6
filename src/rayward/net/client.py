"""One asynchronous HTTP client."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from yarl import URL

from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, ProtocolError, TimedOut
from rayward.net.proxy import proxy_authorization

MAX_BODY: Final = 512 * 1024 * 1024
_MAX_MESSAGE: Final = 16 * 1024 * 1024
_CONNECT_SECONDS: Final = 10.0
_READ_BUFFER: Final = 256 * 1024
_FAILURES: Final = (aiohttp.ClientError, TimeoutError, OSError)


Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Route:
    """What lies between us and a server: TLS, the name in its certificate, a proxy."""

    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    proxy: str | None = None


DIRECT: Final = Route()


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole answer. Header names are looked up without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpStream:
    """An answer whose body comes in parts."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The parts, as they arrive."""
        try:
            async for part in self._response.content.iter_any():
                yield part
        except _FAILURES as error:
            raise _told("stream", error) from error

    async def read(self) -> bytes:
        """The rest of the body."""
        try:
            return await _whole_body(self._response)
        except _FAILURES as error:
            raise _told("stream", error) from error


class WebSocket:
    """A WebSocket connection of ours to a server."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.protocol = socket.protocol
        """The subprotocol that the server chose."""

    async def send(self, data: bytes | str) -> None:
        try:
            if isinstance(data, bytes):
                await self._socket.send_bytes(data)
            else:
                await self._socket.send_str(data)
        except _FAILURES as error:
            raise _told("WebSocket", error) from error

    async def __aiter__(self) -> AsyncIterator[bytes | str]:
        """Messages until the server closes."""
        try:
            async for message in self._socket:
                if message.type is aiohttp.WSMsgType.ERROR:
                    raise ConnectionLost(f"WebSocket: {message.data}")
                yield message.data
        except _FAILURES as error:
            raise _told("WebSocket", error) from error

    async def close(self) -> None:
        await self._socket.close()


class HttpClient:
    """Keeps connections open and bounds how many requests are in flight.

    Streams and WebSockets do not count against ``max_in_flight``: they live long and would starve the rest.
    """

    def __init__(self, *, max_in_flight: int = 128, connect_seconds: float = _CONNECT_SECONDS) -> None:
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self._connect_seconds = connect_seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Headers = (),
        body: bytes | None = None,
        route: Route = DIRECT,
        seconds: float | None = 60.0,
        max_body: int = MAX_BODY,
    ) -> HttpResponse:
        """Send and read the whole answer within ``seconds``; one of more than ``max_body`` bytes is a ProtocolError.

        Raises:
            NetworkError: No whole answer.
        """
        timeout = _timeout(seconds, self._connect_seconds, None)
        async with self._in_flight:
            try:
                async with self._open(method, url, headers, body, route, timeout) as response:
                    return HttpResponse(response.status, response.headers, await _whole_body(response, max_body))
            except _FAILURES as error:
                raise _told(f"{method} {url}", error) from error

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Headers = (),
        body: bytes | None = None,
        route: Route = DIRECT,
        silence_seconds: float | None = None,
    ) -> AsyncGenerator[HttpStream]:
        """Send, then read the answer in parts; ``silence_seconds`` without a byte is a TimedOut."""
        timeout = _timeout(None, self._connect_seconds, silence_seconds)
        try:
            response = await self._open(method, url, headers, body, route, timeout)
        except _FAILURES as error:
            raise _told(f"{method} {url}", error) from error
        try:
            yield HttpStream(response)
        finally:
            _abandon(response)

    @asynccontextmanager
    async def websocket(
        self,
        url: str,
        *,
        protocols: tuple[str, ...] = (),
        headers: Headers = (),
        route: Route = DIRECT,
    ) -> AsyncGenerator[WebSocket]:
        try:
            socket = await self._running().ws_connect(
                URL(url, encoded=True),
                protocols=protocols,
                headers=headers,
                max_msg_size=_MAX_MESSAGE,
                proxy=route.proxy,
                proxy_headers=_proxy_headers(route),
                ssl=route.tls or True,
                server_hostname=route.server_name,
            )
        except _FAILURES as error:
            raise _told(f"WebSocket {url}", error) from error
        try:
            yield WebSocket(socket)
        finally:
            await socket.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes | None,
        route: Route,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.client._RequestContextManager:  # pyright: ignore[reportPrivateUsage]
        return self._running().request(
            method,
            URL(url, encoded=True),
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=timeout,
            proxy=route.proxy,
            proxy_headers=_proxy_headers(route),
            ssl=route.tls or True,
            server_hostname=route.server_name,
        )

    def _running(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=_Connector(limit=0, ttl_dns_cache=30),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_READ_BUFFER,
            )
        return self._session


class _Connector(aiohttp.TCPConnector):
    """Cuts connections that are not used again.

    A polite end of TLS waits for the peer: it may never answer, and it may outlive the loop.
    """

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        if should_close or protocol.should_close:
            protocol.abort()
        super()._release(key, protocol, should_close=should_close)


def _abandon(response: aiohttp.ClientResponse) -> None:
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _proxy_headers(route: Route) -> dict[str, str] | None:
    authorization = proxy_authorization(route.proxy) if route.proxy else None
    return {"Proxy-Authorization": authorization} if authorization else None


async def _whole_body(response: aiohttp.ClientResponse, limit: int = MAX_BODY) -> bytes:
    length = response.content_length
    if length is not None and length > limit:
        _abandon(response)
        raise ProtocolError(f"an answer of {length} bytes is larger than {limit}")
    if length is not None and "Content-Encoding" not in response.headers:
        return await response.read()
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > limit:
            _abandon(response)
            raise ProtocolError(f"an answer is larger than {limit} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@lru_cache(maxsize=64)
def _timeout(total: float | None, connect: float, silence: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total, sock_connect=connect, sock_read=silence)


def _told(what: str, error: Exception) -> NetworkError:
    """The error of ours that says what ``error`` means for the caller."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return ConnectFailed(f"{what}: {error}")
    if isinstance(error, TimeoutError):
        return TimedOut(f"{what}: no answer in time")
    if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError):
        return ConnectionLost(f"{what}: {error}")
    return ProtocolError(f"{what}: {error}")


__all__ = ["DIRECT", "MAX_BODY", "HttpClient", "HttpResponse", "HttpStream", "NetworkError", "Route", "WebSocket"]
