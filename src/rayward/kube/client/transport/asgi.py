"""Requests to an ASGI application in this process: no sockets, no second encoding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

from rayward.kube.client.access import Access
from rayward.kube.client.credentials import Credential
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.kube.client.transport.headers import USER_AGENT, request_headers
from rayward.net.errors import ConnectionLost, TimedOut

Message = MutableMapping[str, Any]
Application = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

_PARTS_AHEAD = 16


class AsgiTransport:
    """Calls ``application`` as a server would."""

    def __init__(self, application: Application, *, token: str | None = None, user_agent: str = USER_AGENT) -> None:
        self._application = application
        self._credential = Credential(token)
        self._agent = user_agent
        self._access = Access("http://in-process")

    async def request(self, request: Request) -> Response:
        """Send and read the whole answer."""
        async with self._call(request) as answer:
            try:
                async with asyncio.timeout(request.seconds):
                    await answer.started()
                    return Response(answer.status, answer.headers, b"".join([part async for part in answer]))
            except TimeoutError as error:
                raise TimedOut(f"{request}: no answer in time") from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        """Send and read the answer in parts."""
        async with self._call(request) as answer:
            await answer.started()
            answer.silence = request.seconds
            yield answer

    async def close(self) -> None:
        """Nothing is held."""

    @asynccontextmanager
    async def _call(self, request: Request) -> AsyncGenerator[_Answer]:
        answer = _Answer(request)
        headers = request_headers(request, self._access, self._credential, self._agent)
        scope = _scope(request, headers)

        async def serve() -> None:
            try:
                await self._application(scope, answer.receive, answer.send)
            finally:
                answer.end()

        task = asyncio.create_task(serve())
        answer.task = task
        try:
            yield answer
        finally:
            answer.hang_up()
            if not task.done():
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # seen by the reader already, or nobody waits for it


class _Answer:
    """Both ends of one exchange: ``receive`` and ``send`` for the application, the rest for the client."""

    def __init__(self, request: Request) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.silence: float | None = None
        self.task: asyncio.Task[None] | None = None
        self._request = request
        self._body_sent = False
        self._complete = False
        self._begun = asyncio.Event()
        self._gone = asyncio.Event()
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue(_PARTS_AHEAD)

    async def receive(self) -> Message:
        if not self._body_sent:
            self._body_sent = True
            return {"type": "http.request", "body": self._request.body or b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message.get("headers", ())}
            self._begun.set()
        elif message["type"] == "http.response.body":
            body = bytes(message.get("body", b""))
            if body:
                await self._parts.put(body)
            if not message.get("more_body", False):
                self._complete = True
                await self._parts.put(None)

    async def started(self) -> None:
        await self._begun.wait()
        if self.status == 0:
            raise ConnectionLost(f"{self._request}: the application gave no answer: {self._failure()}")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            part = await self._next()
            if part is None:
                return
            yield part

    def end(self) -> None:
        """The application returned, with a whole answer or without."""
        self._begun.set()
        if not self._complete:
            self._gone.set()
            if self._parts.empty():
                self._parts.put_nowait(None)

    def hang_up(self) -> None:
        self._gone.set()

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(self.silence):
                part = await self._parts.get() if not (self._ended and self._parts.empty()) else None
        except TimeoutError as error:
            raise TimedOut(f"{self._request}: nothing heard for {self.silence} s") from error
        if part is None and not self._complete:
            raise ConnectionLost(f"{self._request}: the application ended early: {self._failure()}")
        return part

    @property
    def _ended(self) -> bool:
        return self.task is not None and self.task.done()

    def _failure(self) -> str:
        if self.task is None or not self.task.done() or self.task.cancelled():
            return "no reason"
        return repr(self.task.exception())


def _scope(request: Request, headers: list[tuple[str, str]]) -> MutableMapping[str, Any]:
    path, _, query = request.target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }
