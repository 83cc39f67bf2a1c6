"""The client's side of leaving HTTP: ask a server for another protocol on the same connection."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from rayward.net.duplex import Duplex
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, ProtocolError, TimedOut

Headers = Sequence[tuple[str, str]]

_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_LARGEST_HEAD: Final = 256 * 1024
_LARGEST_BODY: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """How a server answered; ``body`` is the whole of one that did not agree."""

    status: int
    headers: Headers
    body: bytes = b""

    def header(self, name: str) -> str:
        """The first value of a header, or empty."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class NotUpgraded(NetworkError):  # noqa: N818 - what happened
    """The server stays with HTTP and says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.body.decode(errors="replace").strip() or f"status {answer.status}")
        self.answer = answer


async def dial(host: str, port: int, tls: ssl.SSLContext | None = None, *, seconds: float = _CONNECT_SECONDS) -> Duplex:
    """A connection to a server.

    Raises:
        ConnectFailed: There is none.
    """
    try:
        async with asyncio.timeout(seconds):
            return Duplex(*await asyncio.open_connection(host, port, ssl=tls, limit=_LARGEST_HEAD))
    except TimeoutError as error:
        raise ConnectFailed(f"dial tcp {host}:{port}: i/o timeout") from error
    except OSError as error:
        raise ConnectFailed(f"dial tcp {host}:{port}: {error.strerror or error}") from error


async def ask(connection: Duplex, method: str, target: str, headers: Headers) -> Answer:
    """Send the head of a request that asks for another protocol; the connection is free if the answer is 101.

    Raises:
        NetworkError: No answer, or none that HTTP knows.
    """
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    await connection.write(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = read_head(await connection.reader.readuntil(b"\r\n\r\n"))
            if answer.status == 101:
                return answer
            return Answer(answer.status, answer.headers, await _body(connection.reader, answer))
    except TimeoutError as error:
        raise TimedOut("no answer in time") from error
    except (asyncio.LimitOverrunError, ValueError) as error:
        raise ProtocolError(f"no answer that HTTP knows: {error}") from error
    except (OSError, EOFError) as error:
        raise ConnectionLost("EOF") from error


def read_head(head: bytes) -> Answer:
    """The status line and headers of an answer.

    Raises:
        ValueError: They are none.
    """
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(f"malformed HTTP response {first[:80]!r}")
    pairs = [line.partition(":") for line in lines]
    return Answer(int(rest[:3]), tuple((name.strip(), value.strip()) for name, _, value in pairs))


async def _body(reader: asyncio.StreamReader, answer: Answer) -> bytes:
    length = answer.header("content-length")
    if length:
        return await reader.readexactly(min(int(length), _LARGEST_BODY))
    if "chunked" not in answer.header("transfer-encoding").lower():
        return await reader.read(_LARGEST_BODY)
    parts: list[bytes] = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        if sum(map(len, parts)) + size > _LARGEST_BODY:
            break
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    return b"".join(parts)


@asynccontextmanager
async def upgraded(
    method: str, url: str, protocol: str, *, headers: Headers = (), tls: ssl.SSLContext | None = None
) -> AsyncGenerator[tuple[Duplex, Answer]]:
    """A connection that speaks ``protocol``, closed in the end; ``tls`` is needed for https.

    Raises:
        NotUpgraded: The server stays with HTTP.
        NetworkError: No answer.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if secure else 80)
    connection = await dial(host, port, tls if secure else None)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        asked = [("Host", parts.netloc), ("Connection", "Upgrade"), ("Upgrade", protocol), *headers]
        answer = await ask(connection, method, target, asked)
        if answer.status != 101:
            raise NotUpgraded(answer)
        yield connection, answer
    finally:
        await connection.end()
