"""exec, attach and port-forward: a WebSocket of the caller, joined to one of the pod's kubelet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from rayward.local.apiserver import status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.kubelet import Kubelets
from rayward.local.apiserver.request import Request
from rayward.net.errors import NetworkError

if TYPE_CHECKING:
    from rayward.net.client import WebSocket

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

KINDS: Mapping[str, str] = {"exec": "exec", "attach": "attach", "portforward": "portForward"}


class Tunnels:
    """Joins callers to kubelets and carries their messages until one side has had enough."""

    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    async def serve(self, core: Core, request: Request, protocols: list[str], receive: Receive, send: Send) -> None:
        """Open the kubelet's side, accept the caller's in the same subprotocol, then carry."""
        kind = KINDS[request.info.subresource]
        target = self._kubelets.target(core, request)
        query = [(name, value) for name, values in request.query.items() for value in values if name != "container"]
        url = target.path(kind, with_container=kind != "portForward") + (f"?{urlencode(query)}" if query else "")
        try:
            async with self._kubelets.client.websocket(
                url, protocols=tuple(protocols), headers=self._kubelets.headers, route=self._kubelets.route
            ) as kubelet:
                await receive()
                await send({"type": "websocket.accept", "subprotocol": kubelet.protocol})
                await _carry(kubelet, receive, send)
        except NetworkError as error:
            raise status.unavailable(f"the kubelet at {target.host} refused: {error}") from None


async def _carry(kubelet: WebSocket, receive: Receive, send: Send) -> None:
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


async def refuse(error: status.ApiError, receive: Receive, send: Send) -> None:
    """Tell a caller who asked for a WebSocket why there is none."""
    await receive()
    body = orjson.dumps(error.status())
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "websocket.http.response.start", "status": error.code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
