"""The proxy: CONNECT for anything, and plain HTTP.

A name is resolved once, each address is checked, and what was checked is connected to: neither another spelling of an
address nor a name that resolves to it leads to this machine's own services.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from rayward.local.node.egress.target import Target, Way, is_name_of_others, of_connect, of_url, way_to
from rayward.local.node.sandboxes import SandboxError, Sandboxes
from rayward.local.node.work.asking import Refused, open_tcp
from rayward.net.proxy import is_loopback, proxy_authorization, proxy_from_environment

PORT: Final = 3128
_MOST_HEAD: Final = 64 * 1024
_CONNECT_SECONDS: Final = 30.0
_ONE_ADDRESS_SECONDS: Final = 10.0
_CHUNK: Final = 64 * 1024
_SPENT: Final = ("proxy-connection", "proxy-authorization", "connection", "keep-alive")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str], Awaitable[list[str]]]
Dial = Callable[[str, int], Awaitable[Streams]]


class Forbidden(Exception):  # noqa: N818 - it names what happened
    """The target is this machine, or what only this machine may ask."""


async def resolve(host: str) -> list[str]:
    """The addresses of a name or of any spelling of an address, as a connection to it would find them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class Proxy:
    """Listens inside the network of the pods, connects from outside of it."""

    def __init__(
        self,
        sandboxes: Sandboxes,
        address: str,
        names: Callable[[str, str], str | None],
        *,
        resolve: Resolve = resolve,
        dial: Dial = asyncio.open_connection,
    ) -> None:
        self._sandboxes = sandboxes
        self._resolve = resolve
        self._dial = dial
        self._address = address
        self._names = names
        """The address of a service, from what a client calls it and the client's own address."""
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to listen, anew if the network is another."""
        await self.stop()
        listener = await self._sandboxes.host.new_socket()
        # A node that starts again takes the port again.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._address, PORT))
        self._server = await asyncio.start_server(self.serve, sock=listener, limit=_MOST_HEAD)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            await self._answer(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, SandboxError):
            # The client or its target went away; there is nobody to tell.
            return
        finally:
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *headers = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        asked, _, version = rest.rpartition(" ")
        if method == "CONNECT":
            target, path = of_connect(asked), ""
        else:
            target, path = of_url(asked) or (None, "")
        if target is None:
            await _refuse(writer, "400 Bad Request", f"not a request for a proxy: {first}")
            return
        client: str = writer.get_extra_info("peername")[0]
        if (service := self._names(target.host, client)) is not None:
            target = Target(service, target.port)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                far = await self._open(target)
        except Forbidden:
            await _refuse(writer, "403 Forbidden", f"{target.host} is not reachable from pods")
            return
        except (OSError, TimeoutError, Refused) as error:
            await _refuse(writer, "502 Bad Gateway", f"{target.host}:{target.port}: {error or 'no answer in time'}")
            return
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            kept = [line for line in headers if line and line.partition(":")[0].lower() not in _SPENT]
            lines = "\r\n".join((f"{method} {path} {version}", *kept, "Connection: close"))
            far[1].write(f"{lines}\r\n\r\n".encode("latin-1"))
        await _join((reader, writer), far)

    async def _open(self, target: Target) -> Streams:
        upstream = proxy_from_environment(f"https://{target.host}:{target.port}", os.environ)
        try:
            resolved = await self._resolve(target.host)
        except (OSError, UnicodeError) as error:
            # Where only the next proxy knows the names of the internet, it decides.
            if upstream is None or not is_name_of_others(target.host):
                raise OSError(f"the name cannot be resolved: {error}") from error
            return await self._through(upstream, target.host, target.port)
        ways = {address: way_to(address) for address in resolved}
        allowed = [address for address, way in ways.items() if way is not Way.FORBIDDEN]
        if not allowed:
            raise Forbidden
        if ways[allowed[0]] is Way.INSIDE:
            return await asyncio.open_connection(sock=await open_tcp(self._sandboxes.host, allowed[0], target.port))
        if upstream is not None:
            if len(allowed) < len(resolved):
                raise Forbidden
            # A proxy of this machine could find another address for the name, and this machine behind it.
            near = is_loopback(urlsplit(upstream).hostname or "")
            return await self._through(upstream, allowed[0] if near else target.host, target.port)
        return await self._dial_first([address for address in allowed if ways[address] is Way.OUTSIDE], target.port)

    async def _dial_first(self, addresses: list[str], port: int) -> Streams:
        failures: list[str] = []
        for address in addresses:
            try:
                async with asyncio.timeout(_ONE_ADDRESS_SECONDS):
                    return await self._dial(address, port)
            except (OSError, TimeoutError) as error:
                failures.append(f"{address}: {error or 'no answer in time'}")
        raise OSError("; ".join(failures))

    async def _through(self, upstream: str, host: str, port: int) -> Streams:
        parts = urlsplit(upstream)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, ssl=parts.scheme == "https")
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        authorization = proxy_authorization(upstream)
        extra = f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
        writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{extra}\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if answer.split(b" ", 2)[1:2] != [b"200"]:
            writer.close()
            raise OSError(f"the proxy {parts.hostname} refused")
        return reader, writer


async def _refuse(writer: asyncio.StreamWriter, status: str, message: str) -> None:
    body = f"{message}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _join(one: Streams, other: Streams) -> None:
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_pour(one[0], other[1]))
            both.create_task(_pour(other[0], one[1]))
    finally:
        other[1].close()


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
