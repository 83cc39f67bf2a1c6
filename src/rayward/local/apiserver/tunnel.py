"""exec, attach and port-forward: a WebSocket or SPDY of the caller, joined to one of the pod's kubelet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rayward.local.apiserver import status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.kubelet import Kubelets, Target, refused
from rayward.local.apiserver.options import Query, flag
from rayward.local.apiserver.request import Request
from rayward.net.duplex import Duplex, join
from rayward.net.errors import NetworkError
from rayward.net.upgrade import Answer, NotUpgraded, upgraded

if TYPE_CHECKING:
    from rayward.net.client import WebSocket
    from rayward.net.server import Leaving

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

KINDS: Mapping[str, str] = {"exec": "exec", "attach": "attach", "portforward": "portForward"}
SPDY = "SPDY/3.1"
_SPDY_INSIDE = f"{SPDY}+"
_FLAGS: Mapping[str, str] = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}


class Tunnels:
    """Joins callers to kubelets and carries what they say until one side has had enough."""

    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    async def serve(self, core: Core, request: Request, protocols: list[str], receive: Receive, send: Send) -> None:
        """Open the kubelet's side, accept the caller's WebSocket in the same subprotocol, then carry."""
        target = self._kubelets.target(core, request)
        spdy = next((name for name in protocols if name.startswith(_SPDY_INSIDE)), None)
        try:
            if spdy is not None:
                await self._serve_spdy(target, request, spdy, receive, send)
                return
            async with self._kubelets.client.websocket(
                _url(target, request),
                protocols=tuple(protocols),
                route=self._kubelets.route,
            ) as kubelet:
                await receive()
                await send({"type": "websocket.accept", "subprotocol": kubelet.protocol})
                await _carry(kubelet, receive, send)
        except NotUpgraded as error:
            raise refused(error.answer.status, error.answer.body) from None
        except NetworkError as error:
            raise status.unavailable(f"the kubelet at {target.host} refused: {error}") from None

    async def _serve_spdy(self, target: Target, request: Request, protocol: str, receive: Receive, send: Send) -> None:
        # the messages are parts of a SPDY connection, which is the kubelet's to understand
        inner = protocol.removeprefix(_SPDY_INSIDE)
        async with self._spdy(target, request, [inner]) as (kubelet, _):
            await receive()
            await send({"type": "websocket.accept", "subprotocol": protocol})
            await _carry(_Messages(kubelet), receive, send)

    async def switch(self, core: Core, request: Request, versions: list[str], caller: Leaving) -> None:
        """Join a caller who asks for SPDY, and in it for one of these protocols, to the kubelet, byte for byte."""
        target = self._kubelets.target(core, request)
        try:
            async with self._spdy(target, request, versions) as (kubelet, answer):
                agreed = answer.header("x-stream-protocol-version").encode("latin-1")
                headers = [(b"Connection", b"Upgrade"), (b"Upgrade", SPDY.encode())]
                if agreed:
                    headers.append((b"X-Stream-Protocol-Version", agreed))
                await join(caller.switch(headers), kubelet)
        except NotUpgraded as error:
            raise refused(error.answer.status, error.answer.body) from None
        except NetworkError as error:
            raise status.unavailable(f"the kubelet at {target.host} refused: {error}") from None

    def _spdy(
        self, target: Target, request: Request, versions: list[str]
    ) -> AbstractAsyncContextManager[tuple[Duplex, Answer]]:
        headers = [("X-Stream-Protocol-Version", version) for version in versions]
        return upgraded("POST", _url(target, request), SPDY, headers=headers, tls=self._kubelets.route.tls)


def _url(target: Target, request: Request) -> str:
    query = kubelet_query(request.info.subresource, request.query)
    return target.path(KINDS[request.info.subresource]) + (f"?{urlencode(query)}" if query else "")


def kubelet_query(subresource: str, query: Query) -> list[tuple[str, str]]:
    """The caller's options in the kubelet's words."""
    if subresource == "portforward":
        ports = [port for value in query.get("ports", ()) for port in value.split(",")]
        return [("port", ",".join(ports))] if ports else []
    asked = [(short, "1") for name, short in _FLAGS.items() if flag(query, name)]
    return [*asked, *(("command", part) for part in query.get("command", ()) if subresource == "exec")]


class _Messages:
    """A connection as if it were a WebSocket: every part is a message."""

    def __init__(self, connection: Duplex) -> None:
        self._connection = connection

    async def send(self, data: bytes | str) -> None:
        await self._connection.write(data if isinstance(data, bytes) else data.encode())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._connection.read():
            yield data


async def _carry(kubelet: WebSocket | _Messages, receive: Receive, send: Send) -> None:
    async def outward() -> None:
        async for message in kubelet:
            await send({"type": "websocket.send", _form(message): message})

    async def inward() -> None:
        while (event := await receive())["type"] == "websocket.receive":
            data = event.get("bytes")
            await kubelet.send(data if data is not None else event["text"])

    tasks = [asyncio.ensure_future(outward()), asyncio.ensure_future(inward())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(RuntimeError):
            # the caller may have closed first
            await send({"type": "websocket.close", "code": 1000})


def _form(message: bytes | str) -> str:
    return "bytes" if isinstance(message, bytes) else "text"
