"""Handing an HTTP request on over a connection that is already there, and its answer back, both as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from yarl import URL

from rayward.net.client import HttpStream
from rayward.net.duplex import Duplex
from rayward.net.errors import ConnectionLost, ProtocolError

Headers = Sequence[tuple[str, str]]

_LARGEST_LINE: Final = 64 * 1024
_NOT_ADDED: Final = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")
_BUFFER: Final = 256 * 1024


class _Here(aiohttp.BaseConnector):
    """Gives out the one connection that it was made with."""

    def __init__(self, connection: Duplex) -> None:
        super().__init__(force_close=True)
        self._transport: Any = connection.writer.transport
        self._reader: Any = connection.reader

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - its name
        handler = self._factory()
        self._transport.set_protocol(handler)
        handler.connection_made(self._transport)
        # What came before is not said again, neither bytes nor the end.
        early = bytes(self._reader._buffer)  # pyright: ignore[reportPrivateUsage]
        self._reader._buffer.clear()  # pyright: ignore[reportPrivateUsage]
        if early:
            handler.data_received(early)
        if self._reader.at_eof() or self._reader.exception() or self._transport.is_closing():
            self._transport.close()
            handler.connection_lost(None)
        return handler


@asynccontextmanager
async def forwarded(
    connection: Duplex, method: str, target: str, headers: Headers, body: AsyncIterator[bytes] | None
) -> AsyncGenerator[HttpStream]:
    """Send a request whose head is complete, and read the answer in parts, not decoded.

    ``headers`` name the Host, and the length of ``body`` where it is known. The connection is used up by it.

    Raises:
        NetworkError: No answer.
    """
    async with aiohttp.ClientSession(
        connector=_Here(connection),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=_NOT_ADDED,
        timeout=aiohttp.ClientTimeout(total=None, sock_read=None),
        read_bufsize=_BUFFER,
        max_line_size=_LARGEST_LINE,
        max_field_size=_LARGEST_LINE,
    ) as session:
        url = URL(f"http://forwarded{target}", encoded=True)
        try:
            response = await session.request(method, url, headers=headers, data=body, allow_redirects=False)
        except aiohttp.ServerDisconnectedError as error:
            raise ConnectionLost("EOF") from error
        except (aiohttp.ClientConnectionError, OSError) as error:
            raise ConnectionLost(str(error) or "EOF") from error
        except aiohttp.ClientError as error:
            raise ProtocolError(f"malformed HTTP response: {error}") from error
        try:
            yield HttpStream(response)
        finally:
            response.close()
