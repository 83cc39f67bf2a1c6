"""``proxy`` of pods, services and nodes: the caller's request is handed on, and the answer comes back as it comes."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from rayward.local.apiserver import proxylinks, status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.kubelet import Kubelets
from rayward.local.apiserver.proxylinks import Way
from rayward.local.apiserver.proxytarget import Place, place_of, unreachable
from rayward.local.apiserver.request import Request
from rayward.net.duplex import Duplex, join
from rayward.net.errors import NetworkError
from rayward.net.upgrade import ask, dial, upgraded

if TYPE_CHECKING:
    from rayward.net.client import HttpStream
    from rayward.net.server import Leaving

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Pairs = list[tuple[str, str]]

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# The caller's own keys to this server are none of a pod's business.
_OURS = frozenset({"authorization", "x-forwarded-uri", "expect"})
_SAFE = "/:@!$&'()*+,;=~-._"
_LARGEST_PAGE = 16 * 1024 * 1024


def split_path(raw: bytes, segments: int) -> tuple[str, str]:
    """The path up to and with ``proxy``, and the cleaned path behind it; that is empty if not even a slash follows.

    ``segments`` is the number of path segments up to ``proxy``.
    """
    parts = raw.decode("latin-1").split("/")
    prefix, rest = "/".join(parts[: segments + 1]), parts[segments + 1 :]
    if not rest:
        return prefix, ""
    plain = unquote("/".join(rest))
    clean = posixpath.normpath("/" + plain.lstrip("/")) if plain else "/"
    return prefix, quote(clean + ("/" if plain.endswith("/") and clean != "/" else ""), safe=_SAFE)


class Proxies:
    """Hands requests on, through the kubelets: only they are in the network of pods."""

    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    async def serve(self, core: Core, request: Request, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer a request; returns the answer's status.

        Raises:
            ApiError: Nothing was answered yet, and this is the answer.
        """
        method: str = scope["method"]
        if method not in _METHODS:
            raise status.method_not_allowed()
        place = place_of(core, request)
        segments = 7 if request.namespace else 5
        prefix, path = split_path(scope.get("raw_path") or scope["path"].encode(), segments)
        query = scope["query_string"].decode("latin-1")
        asked = f"?{query}" if query else ""
        leaving: Leaving | None = scope.get("extensions", {}).get("connection")
        upgrade = leaving.asked_upgrade() if leaving is not None else ""
        if not path and not upgrade and method in ("GET", "HEAD"):
            return await _redirect(unquote(prefix) + "/" + asked, send)
        headers = _headers(scope, prefix + path if not upgrade else "")
        way = Way(unquote(prefix), place.host, request.header(b"host"))
        async with self._dialed(place) as connection:
            if upgrade and leaving is not None:
                wanted = [("Connection", "Upgrade"), ("Upgrade", request.header(b"upgrade"))]
                target = (path or "/") + asked
                return await _switch(connection, leaving, method, target, [*headers, *wanted], send)
            body = _Body(receive, request)
            work = _exchange(connection, method, (path or "/") + asked, headers, body, way, send, leaving)
            return await _unless_gone(work, body)

    @asynccontextmanager
    async def _dialed(self, place: Place) -> AsyncGenerator[Duplex]:
        tls = self._kubelets.route.tls
        try:
            if not place.path:
                host, _, port = place.kubelet.rpartition(":")
                connection = await dial(host, int(port), tls)
                try:
                    yield connection
                finally:
                    connection.close()
                return
            url = f"https://{place.kubelet}{place.path}"
            async with upgraded("GET", url, "tcp", tls=tls) as (connection, _):
                yield connection
        except NetworkError as error:
            raise unreachable(f"error trying to reach service: {error}") from None


def _headers(scope: Scope, uri: str) -> Pairs:
    given = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    client = (scope.get("client") or ("",))[0]
    before = [value for name, value in given if name == "x-forwarded-for"]
    headers = [
        (name, value)
        for name, value in _end_to_end(given)
        if name not in _OURS and name != "x-forwarded-for" and not name.startswith("impersonate-")
    ]
    headers.append(("X-Forwarded-For", ", ".join([*before, client] if client else before)))
    if uri:
        headers.append(("X-Forwarded-Uri", uri))
    return headers


class _Body:
    """The caller's body, as it comes; then whether the caller is still there."""

    def __init__(self, receive: Receive, request: Request) -> None:
        self._receive = receive
        self._whole = asyncio.Event()
        self.expected = b"transfer-encoding" in request.headers or request.header(b"content-length") not in ("", "0")
        if not self.expected:
            self._whole.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError("the caller left")
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                self._whole.set()
                return

    async def until_gone(self) -> None:
        """Return when the caller leaves."""
        await self._whole.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _unless_gone(work: Awaitable[int], body: _Body) -> int:
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(body.until_gone())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else 499
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _exchange(
    connection: Duplex,
    method: str,
    target: str,
    headers: Pairs,
    body: _Body,
    way: Way,
    send: Send,
    leaving: Leaving | None,
) -> int:
    from rayward.net.forward import forwarded

    async with forwarded(connection, method, target, headers, aiter(body) if body.expected else None) as answer:
        pairs = _end_to_end([(name.lower(), value) for name, value in answer.headers.items()])
        location = any(name == "location" for name, _ in pairs)
        pairs = [(name, way.through(value) if name == "location" else value) for name, value in pairs]
        if not location and answer.headers.get("Content-Type", "").split(";")[0].strip() == "text/html":
            return await _send_page(answer, pairs, way, send, leaving, head=method == "HEAD")
        if answer.status in (204, 304):
            pairs = [(name, value) for name, value in pairs if name != "content-length"]
        await _start(answer.status, pairs, send)
        await _send_rest(aiter(answer), send, leaving)
        return answer.status


async def _send_rest(parts: AsyncIterator[bytes], send: Send, leaving: Leaving | None) -> None:
    try:
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except NetworkError:
        if leaving is not None:
            # what is not whole must not look whole
            leaving.abort()
        return
    await send({"type": "http.response.body", "body": b""})


async def _send_page(
    answer: HttpStream, pairs: Pairs, way: Way, send: Send, leaving: Leaving | None, *, head: bool
) -> int:
    parts: list[bytes] = []
    size = 0
    waiting = aiter(answer)
    async for part in waiting:
        parts.append(part)
        size += len(part)
        if size > _LARGEST_PAGE:
            break
    page = b"".join(parts)
    encoding = answer.headers.get("Content-Encoding", "")
    plain = proxylinks.opened(page, encoding) if size <= _LARGEST_PAGE and not head else None
    if plain is not None:
        page = proxylinks.packed(proxylinks.rewritten(plain, way.through), encoding)
        pairs = [(name, value) for name, value in pairs if name != "content-length"]
        pairs.append(("content-length", str(len(page))))
    await _start(answer.status, pairs, send)
    await send({"type": "http.response.body", "body": page, "more_body": True})
    await _send_rest(waiting, send, leaving)
    return answer.status


async def _start(code: int, pairs: Pairs, send: Send) -> None:
    encoded = [(name.encode("latin-1"), value.encode("latin-1", "surrogateescape")) for name, value in pairs]
    headers = [(b"cache-control", b"no-cache, private"), *encoded]
    await send({"type": "http.response.start", "status": code, "headers": headers})


async def _switch(connection: Duplex, leaving: Leaving, method: str, target: str, headers: Pairs, send: Send) -> int:
    answer = await ask(connection, method, target, headers)
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    if answer.status == 101:
        await join(leaving.switch(pairs), connection)
        return 101
    if answer.status < 400:
        raise status.ApiError(500, "", f"invalid upgrade response: status code {answer.status}")
    kept = [(name, value) for name, value in pairs if name.lower() not in (b"content-length", b"transfer-encoding")]
    kept = [(name, value) for name, value in kept if name.lower() not in (b"connection", b"upgrade")]
    kept.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": kept})
    await send({"type": "http.response.body", "body": answer.body})
    return answer.status


async def _redirect(location: str, send: Send) -> int:
    headers = [(b"location", location.encode("latin-1", "replace")), (b"content-length", b"0")]
    headers.append((b"cache-control", b"no-cache, private"))
    await send({"type": "http.response.start", "status": 301, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
    return 301


def _end_to_end(pairs: Sequence[tuple[str, str]]) -> Pairs:
    named = {token.strip().lower() for name, value in pairs if name == "connection" for token in value.split(",")}
    return [(name, value) for name, value in pairs if name not in _HOP and name not in named]
