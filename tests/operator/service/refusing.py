"""A server that is in the operator's way."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager

from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport


class Refusing:
    """A server that refuses a kind of write to Ray clusters, as often as it is told to."""

    def __init__(self, transport: Transport, method: str, code: int, reason: str) -> None:
        self._transport = transport
        self._method = method
        self._code = code
        self._reason = reason
        self.times = 0

    async def request(self, request: Request) -> Response:
        if request.method == self._method and "/rayclusters" in request.target and self.times:
            self.times -= 1
            status = {"kind": "Status", "code": self._code, "reason": self._reason, "message": "not today"}
            return Response(self._code, {"content-type": "application/json"}, json.dumps(status).encode())
        return await self._transport.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        """The transport is not ours to close."""
