"""Requests over aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from rayward.kube.client.access import Access
from rayward.kube.client.credentials import Credential, NoCredentials
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.kube.client.transport.headers import USER_AGENT, request_headers
from rayward.net.client import HttpClient, Route, WebSocket
from rayward.net.tls import TlsError, client_context

_UNAUTHORIZED = 401


class AioTransport:
    """One server, one user, many connections. A 401 is tried once more with new credentials."""

    def __init__(self, access: Access, *, user_agent: str = USER_AGENT, max_in_flight: int = 128) -> None:
        self._access = access
        self._agent = user_agent
        self._http = HttpClient(max_in_flight=max_in_flight)
        self._secure = urlsplit(access.server).scheme == "https"
        self._route: tuple[Credential, Route] | None = None
        self._loading = asyncio.Lock()

    async def request(self, request: Request) -> Response:
        """Send and read the whole answer."""
        credential = await self._credential()
        response = await self._send(request, credential)
        if response.status == _UNAUTHORIZED and await self._replaced(credential):
            response = await self._send(request, await self._credential())
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        """Send and read the answer in parts."""
        credential = await self._credential()
        async with self._open(request, credential) as stream:
            if stream.status != _UNAUTHORIZED or not await self._replaced(credential):
                yield stream
                return
        async with self._open(request, await self._credential()) as stream:
            yield stream

    @asynccontextmanager
    async def websocket(self, target: str, protocols: tuple[str, ...]) -> AsyncGenerator[WebSocket]:
        """Open a WebSocket (exec, attach, port-forward)."""
        credential = await self._credential()
        headers = request_headers(Request("GET", target), self._access, credential, self._agent)
        url = self._access.server + target
        async with self._http.websocket(url, protocols=protocols, headers=headers, route=self._via(credential)) as it:
            yield it

    async def close(self) -> None:
        """Let go of every connection."""
        await self._http.close()

    async def _send(self, request: Request, credential: Credential) -> Response:
        answer = await self._http.request(
            request.method,
            self._access.server + request.target,
            headers=request_headers(request, self._access, credential, self._agent),
            body=request.body,
            route=self._via(credential),
            seconds=request.seconds,
            max_body=request.max_body,
        )
        return Response(answer.status, answer.headers, answer.body)

    @asynccontextmanager
    async def _open(self, request: Request, credential: Credential) -> AsyncGenerator[ByteStream]:
        async with self._http.stream(
            request.method,
            self._access.server + request.target,
            headers=request_headers(request, self._access, credential, self._agent),
            body=request.body,
            route=self._via(credential),
            silence_seconds=request.seconds,
        ) as stream:
            yield stream

    async def _credential(self) -> Credential:
        fresh = self._access.credentials.fresh()
        if fresh is not None:
            return fresh
        async with self._loading:
            # Those who waited for the lock find what the first one loaded.
            return self._access.credentials.fresh() or await asyncio.to_thread(self._access.credentials.load)

    async def _replaced(self, credential: Credential) -> bool:
        return await asyncio.to_thread(self._access.credentials.reject, credential)

    def _via(self, credential: Credential) -> Route:
        # One context as long as the certificate stays: connections are shared per context.
        if self._route is not None:
            shown, route = self._route
            if (shown.certificate, shown.key) == (credential.certificate, credential.key):
                return route
        tls = self._access.tls
        try:
            context = client_context(tls, credential.certificate, credential.key) if self._secure else None
        except TlsError as error:
            raise NoCredentials(str(error)) from error
        route = Route(context, tls.server_name if self._secure else None, self._access.proxy)
        self._route = (credential, route)
        return route
