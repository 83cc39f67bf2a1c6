"""One HTTPS server for an ASGI application, inside the running loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Application = Callable[..., Awaitable[None]]

_MAX_HEAD = 1 << 20
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """Files of the server's certificate, and of the authority whose clients are known."""

    certificate: Path
    key: Path
    client_authority: Path | None = None


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 that also tells the application whose certificate the client showed."""

    _subject: tuple[str, tuple[str, ...]] | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self._subject = _subject_of(certificate)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            # the parser itself gathers a head without end
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        super().on_message_complete()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._subject is not None:
            self.scope["extensions"] = {"tls": {"client_subject": self._subject}}


def _subject_of(certificate: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    pairs = [pair for group in certificate.get("subject", ()) for pair in group]
    name = next((value for key, value in pairs if key == "commonName"), None)
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return None if name is None else (name, groups)


class Server:
    """A listening server. It owns no signals: the process that runs it does."""

    def __init__(self, application: Application, listener: socket.socket, tls: ServerTls | None = None) -> None:
        config = uvicorn.Config(
            application,
            http=_Protocol,
            ws="websockets-sansio",
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
        """Begin to answer."""
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
