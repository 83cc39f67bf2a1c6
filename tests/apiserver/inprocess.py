"""A server inside the test's own event loop, and the shortest way to talk to it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rayward.local.apiserver.process import ApiServer
from rayward.net.client import HttpClient, Route
from rayward.net.tls import ClientTls, client_context


class Answer(NamedTuple):
    """What came back."""

    code: int
    body: Any


class Api:
    """A running server and a client of it."""

    def __init__(self, server: ApiServer, url: str, folder: Path, http: HttpClient) -> None:
        self.server = server
        self.url = url
        self._http = http
        self._token = (folder / "pki" / "token").read_text()
        self._route = Route(tls=client_context(ClientTls((folder / "pki" / "ca.crt").read_text())))

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        **headers: str,
    ) -> Answer:
        """Send a request; a body that is no bytes goes out as JSON."""
        sent = [("Authorization", f"Bearer {self._token}"), *headers.items()]
        if body is not None:
            sent.append(("Content-Type", content_type))
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = await self._http.request(method, self.url + path, headers=sent, body=data, route=self._route)
        try:
            return Answer(answer.status, json.loads(answer.body))
        except ValueError:
            return Answer(answer.status, answer.body)

    async def watch(self, path: str) -> AsyncIterator[Any]:
        """The events of a watch, as they come."""
        sent = [("Authorization", f"Bearer {self._token}")]
        rest = b""
        async with self._http.stream("GET", self.url + path, headers=sent, route=self._route) as stream:
            async for part in stream:
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield json.loads(line)


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Api]:
    """A server in a folder, stopped in the end."""
    server = ApiServer(folder)
    url = await server.start()
    try:
        async with HttpClient() as http:
            yield Api(server, url, folder, http)
    finally:
        await server.stop()
