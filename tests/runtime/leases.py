"""The API of one Lease in memory, with optimistic concurrency, and a network that can be cut per client."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.net.errors import ConnectionLost
from tests.client.recording import answer_json
from tests.runtime.simulated import status


class Leases:
    """What every contender talks to."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.writes: list[tuple[float, str]] = []

    def handle(self, request: Request) -> Response:
        body: dict[str, Any] = orjson.loads(request.body or b"{}")
        if request.method == "GET":
            return answer_json(200, self.lease) if self.lease else answer_json(404, status(404, "NotFound"))
        if request.method == "POST":
            if self.lease is not None:
                return answer_json(409, status(409, "AlreadyExists"))
        elif self.lease is None:
            return answer_json(404, status(404, "NotFound"))
        elif body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return answer_json(409, status(409, "Conflict"))
        self.version += 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        self.writes.append((asyncio.get_running_loop().time(), body["spec"].get("holderIdentity") or ""))
        return answer_json(200, self.lease)

    @property
    def holder(self) -> str:
        return (self.lease or {}).get("spec", {}).get("holderIdentity", "")


class Line:
    """One contender's connection."""

    def __init__(self, leases: Leases, latency: float = 0.01) -> None:
        self._leases = leases
        self.latency = latency
        self.back: float | None = None
        """How long answers take, where that differs from the way there."""
        self.cut = False
        self.lose_answers = False
        self.requests = 0

    async def request(self, request: Request) -> Response:
        self.requests += 1
        await asyncio.sleep(self.latency)
        if self.cut:
            raise ConnectionLost("cut")
        answer = self._leases.handle(request)
        await asyncio.sleep(self.latency if self.back is None else self.back)
        if self.lose_answers:
            raise ConnectionLost("the answer was lost")
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        raise AssertionError("leader election follows nothing: it reads and writes its lease")

    async def close(self) -> None:
        pass
