"""One HTTPS server for an ASGI application, inside the running loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rayward.net.duplex import Duplex

Application = Callable[..., Awaitable[None]]
Carried = Callable[[bytes], bool]
"""Whether WebSockets to this target (path and query) are the application's to carry, as bytes."""

_MAX_HEAD = 1 << 20
_HEAD_SECONDS = 32.0
"""How long a client may take for the head of a request: Kubernetes' own limit."""
_SWITCHED_BUFFER = 256 * 1024
_SUBPROTOCOLS = b"sec-websocket-protocol"
SLASH = b"%2F"
"""What stands for the slash in the name of a subprotocol."""
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """Files of the server's certificate, and of the authority whose clients are known."""

    certificate: Path
    key: Path
    client_authority: Path | None = None


class Leaving(Protocol):
    """The connection below a request, for applications that leave HTTP; ``scope["extensions"]["connection"]``."""

    def asked_upgrade(self) -> str:
        """The protocol that the client wants instead of HTTP, in lower case; empty if it wants none."""
        ...

    def switch(self, headers: Sequence[tuple[bytes, bytes]]) -> Duplex:
        """Agree (101) with these headers; from now on the connection is the application's."""
        ...

    def abort(self) -> None:
        """Hang up in the middle of an answer, so that nobody takes it for whole."""
        ...


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 that also tells the application whose certificate the client showed, and can be left."""

    carried: Carried | None = None
    _subject: tuple[str, tuple[str, ...]] | None = None
    _in_head = True
    _head_bytes = 0
    _early: bytearray | None = None
    """What came behind a request for another protocol, before the application has agreed to it."""
    _head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head_due = self.loop.call_later(_HEAD_SECONDS, transport.close)
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self._subject = subject_of(certificate)

    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early += data
            if len(self._early) > _SWITCHED_BUFFER:
                self.transport.pause_reading()
            return
        if self._in_head:
            # the parser itself gathers a head without end
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        self._unset_keepalive_if_required()
        try:
            _running(self.parser).feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            else:
                self._early = bytearray(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
            return
        if self._in_head and self._head_bytes and self._head_due is None:
            # no timer for a head that comes in one piece
            self._head_due = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def on_header(self, name: bytes, value: bytes) -> None:
        # what stands behind a body is no header: nobody may slip in who he is when that was looked at
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes = False, 0
        self._stop_waiting()
        super().on_headers_complete()
        if _running(self.parser).should_upgrade() and not self._should_upgrade():
            # who wanted another protocol sends no second request, and the parser would not read it
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        self._in_head = True
        super().on_message_complete()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        extensions: dict[str, Any] = {"connection": self}
        if self._subject is not None:
            extensions["tls"] = {"client_subject": self._subject}
        self.scope["extensions"] = extensions

    def asked_upgrade(self) -> str:
        return (self._get_upgrade() or b"").decode("latin-1")

    def switch(self, headers: Sequence[tuple[bytes, bytes]]) -> Duplex:
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(b"HTTP/1.1 101 Switching Protocols\r\n" + lines + b"\r\n")
        self.cycle.response_started = self.cycle.response_complete = True
        reader = asyncio.StreamReader(limit=_SWITCHED_BUFFER, loop=self.loop)
        protocol = _Switched(reader, self.connections)
        self.connections.discard(self)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if self._early:
            reader.feed_data(bytes(self._early))
        if self.transport.is_closing():
            # the client left before we agreed, and nobody will say so again
            reader.feed_eof()
        else:
            self.transport.resume_reading()
        return Duplex(reader, asyncio.StreamWriter(self.transport, protocol, reader, self.loop))

    def abort(self) -> None:
        self.cycle.disconnected = True
        self.transport.abort()

    def _should_upgrade(self) -> bool:
        return super()._should_upgrade() and not (self.carried and self.carried(self.url))

    def handle_websocket_upgrade(self) -> None:
        # Kubernetes has names of subprotocols with a slash, which no token may have: the library would refuse them
        self.headers[:] = [
            (name, value.replace(b"/", SLASH) if name == _SUBPROTOCOLS else value) for name, value in self.headers
        ]
        super().handle_websocket_upgrade()


class _Switched(asyncio.StreamReaderProtocol):
    """A connection that left HTTP; it ends with the server."""

    def __init__(self, reader: asyncio.StreamReader, connections: set[Any]) -> None:
        super().__init__(reader)
        self._connections = connections
        self._transport_of_mine: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._transport_of_mine = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.discard(self)

    def shutdown(self) -> None:
        if self._transport_of_mine is not None:
            self._transport_of_mine.close()


def _running(parser: httptools.HttpRequestParser | None) -> httptools.HttpRequestParser:
    assert parser is not None, "there is one until the connection is lost"
    return parser


def subject_of(certificate: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """The common name and the organizations of a client's certificate; None where it has no name."""
    pairs = [pair for group in certificate.get("subject", ()) for pair in group]
    name = next((value for key, value in pairs if key == "commonName"), None)
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return None if name is None else (name, groups)


class Server:
    """A listening server. It owns no signals: the process that runs it does.

    WebSockets take ``rayward.net.websocket``, which whoever serves none does not have to load.
    """

    def __init__(
        self,
        application: Application,
        listener: socket.socket,
        tls: ServerTls | None = None,
        carried: Carried | None = None,
        websocket: type[asyncio.Protocol] | None = None,
    ) -> None:
        config = uvicorn.Config(
            application,
            http=type("_ProtocolHere", (_Protocol,), {"carried": staticmethod(carried)}) if carried else _Protocol,
            ws=websocket or "none",
            # a client that reads slowly answers late; one that is gone is told by TCP
            ws_ping_timeout=None,
            # as Kubernetes: a small frame must not unpack into a large one
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            # below a warning uvicorn logs URLs, and those of exec hold users' commands
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=300,
            timeout_graceful_shutdown=2,
            ssl_certfile=str(tls.certificate) if tls else None,
            ssl_keyfile=str(tls.key) if tls else None,
        )
        config.load()
        if tls is not None and tls.client_authority is not None:
            context = config.ssl
            assert isinstance(context, ssl.SSLContext)
            context.load_verify_locations(str(tls.client_authority))
            context.verify_mode = ssl.CERT_OPTIONAL
        self._server = _Quiet(config)
        self._listener = listener
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        await self._server.ready.wait()

    async def stop(self) -> None:
        """Stop listening, let what is in flight finish for a moment, close the rest."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task


class _Quiet(uvicorn.Server):
    """uvicorn without its signal handlers, and with an event instead of a polled flag."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        await self._serve(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    listener.listen(2048)
    listener.setblocking(False)
    return listener
