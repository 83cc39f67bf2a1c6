"""The server's HTTP face: who asks, for what, and how the answer goes out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

import orjson

from rayward.local.apiserver import impersonation, status
from rayward.local.apiserver.authentication import Authenticator, shown_token
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import ANONYMOUS, NOBODY, User
from rayward.local.apiserver.media import PROTOBUF, only_protobuf
from rayward.local.apiserver.options import Query, flag
from rayward.local.apiserver.proxy import Proxies
from rayward.local.apiserver.rbac.access import asked, refused
from rayward.local.apiserver.rbac.authorizer import MASTERS
from rayward.local.apiserver.rbac.impersonate import Impersonation
from rayward.local.apiserver.request import Request, Response, Stream
from rayward.local.apiserver.requestinfo import RequestInfo, parse
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.respond import to_protobuf, to_yaml, warning_headers
from rayward.local.apiserver.tunnel import KINDS, SPDY, Tunnels
from rayward.local.apiserver.verbs import watchsocket
from rayward.local.apiserver.verbs.convert import converting
from rayward.local.apiserver.verbs.create import create
from rayward.local.apiserver.verbs.delete import delete, delete_collection
from rayward.local.apiserver.verbs.patch import patch
from rayward.local.apiserver.verbs.read import get, list_
from rayward.local.apiserver.verbs.update import update
from rayward.local.apiserver.verbs.watch import watch
from rayward.local.store import Overloaded, StoreClosed, StoreFailed

if TYPE_CHECKING:
    from rayward.net.server import Leaving

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler = Callable[[Core, Request], Awaitable[Response | Stream]]
Page = Callable[[Core, User, str, Query, Mapping[bytes, bytes], bytes], Awaitable[Response | None]]
"""Answers a path that names no resource; None: not mine."""

_log = logging.getLogger(__name__)
_VERBS: Mapping[str, Handler] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
_NAMED_VERBS = frozenset({"get", "update", "patch", "delete"})
_STATUS_VERBS = frozenset({"get", "update", "patch"})
_CARRIED = frozenset({"proxy", *KINDS})
_STREAM_PROTOCOLS = b"x-stream-protocol-version"
_COMMON_HEADERS = ((b"cache-control", b"no-cache, private"),)
_ANONYMOUS = User(ANONYMOUS, groups=(NOBODY,))
_NOT_FOUND = Response(404, b"404 page not found\n", b"text/plain; charset=utf-8")


class App:
    def __init__(
        self,
        core: Core,
        authenticator: Authenticator,
        pages: tuple[Page, ...],
        subresources: Mapping[tuple[str, str], Mapping[str, Handler]],
        virtual: Mapping[str, Handler],
        tunnels: Tunnels,
        proxies: Proxies,
        observe: Callable[[str, str, int], None],
    ) -> None:
        self._core = core
        self._authenticator = authenticator
        self._authorizer = core.authorizer
        self._impersonation = Impersonation(core.authorizer)
        self._pages = pages
        self._subresources = subresources
        self._virtual = virtual
        self._tunnels = tunnels
        self._proxies = proxies
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] == "websocket":
            await self._open(scope, receive, send)
            return
        warnings: list[str] = []
        try:
            answer = await self._answer(scope, receive, send, warnings)
        except Exception as error:
            answer = failure(_problem(error, scope), warnings, dict(scope["headers"]).get(b"accept", b""))
        if isinstance(answer, Stream):
            await _send_stream(answer, receive, send)
        elif answer is not None:
            await _send_response(answer, send, head=scope["method"] == "HEAD")

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a WebSocket, which can be refused until it is accepted."""
        accepted = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal accepted
            accepted = accepted or message["type"] == "websocket.accept"
            await send(message)

        try:
            await self._tunnel(scope, receive, sending)
        except Exception as error:
            if accepted:
                raise
            await _refuse_socket(failure(_problem(error, scope), []), receive, send)

    async def _tunnel(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, headers, query = _asked(scope)
        info = parse("GET", path)
        user = self._caller(scope, info, "GET", path, headers)
        _check_old_watch(info, "GET")
        resource = self._core.registry.find(info.group, info.version, info.resource) if info is not None else None
        if info is None or resource is None:
            raise status.no_such_resource()
        request = Request(info, resource, query, headers, b"", user)
        if info.subresource in KINDS:
            if resource.qualified_name != "pods":
                raise status.no_such_resource()
            await self._tunnels.serve(self._core, request, scope["subprotocols"], receive, send)
            return
        handler = self._handler(info, resource, query)
        refused = watchsocket.unacceptable(headers.get(b"origin"), scope["subprotocols"])
        if refused:
            await watchsocket.turn_away(refused, receive, send)
            return
        answer = await converting(self._core, request, handler)
        assert isinstance(answer, Stream)
        self._observe("watch", resource.plural, 200)
        await watchsocket.carry(answer, scope["subprotocols"], receive, send)

    async def _carry(self, scope: Scope, receive: Receive, send: Send, request: Request) -> bool:
        """Answer a request that goes on to a kubelet as it comes; returns whether it was one."""
        kind, resource = request.info.subresource, request.resource
        if kind not in resource.subresources or bool(request.namespace) != resource.namespaced:
            return False
        if kind == "proxy":
            code = await self._proxies.serve(self._core, request, scope, receive, send)
            self._observe(request.info.verb, resource.plural, code)
            return True
        caller: Leaving | None = scope.get("extensions", {}).get("connection")
        if caller is None or caller.asked_upgrade() != SPDY.lower() or scope["method"] not in {"GET", "POST"}:
            return False
        versions = [value.decode("latin-1") for name, value in scope["headers"] if name == _STREAM_PROTOCOLS]
        await self._tunnels.switch(self._core, request, versions, caller)
        return True

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, warnings: list[str]
    ) -> Response | Stream | None:
        method: str = scope["method"]
        path, headers, query = _asked(scope)
        info = parse(method, path)
        carried = info is not None and info.subresource in _CARRIED
        caller = self._caller(scope, info, method, path, headers)
        _check_old_watch(info, method)
        if method == "HEAD" and (info is None or info.subresource != "proxy"):
            raise status.method_not_allowed()
        if carried and info is not None:
            resource = self._core.registry.find(info.group, info.version, info.resource)
            if resource is not None and resource.builtin:
                asked = Request(info, resource, query, headers, b"", caller, warnings)
                if await self._carry(scope, receive, send, asked):
                    return None
        body = await _read_body(receive, headers) if method not in {"GET", "HEAD"} else b""
        if info is None:
            for page in self._pages:
                answer = await page(self._core, caller, path, query, headers, body)
                if answer is not None:
                    return answer
            return self._not_found(path)
        resource = self._core.registry.find(info.group, info.version, info.resource)
        if resource is None:
            return self._not_found(path)
        request = Request(info, resource, query, headers, body, caller, warnings)
        if resource.deprecation:
            warnings.append(resource.deprecation)
        if info.namespace and not resource.namespaced and not resource.builtin:
            return _NOT_FOUND
        handler = self._handler(info, resource, query)
        try:
            if resource.conversion is None:
                answer = await handler(self._core, request)
            else:
                answer = await converting(self._core, request, handler)
        except status.ApiError:
            if method != "GET":
                # A write is judged by what is queued; whoever is refused for it and looks must find it there.
                store = self._core.objects.store
                await store.committed(store.newest_revision)
            raise
        self._observe(info.verb, resource.plural, answer.code if isinstance(answer, Response) else 200)
        return answer

    def _caller(
        self, scope: Scope, info: RequestInfo | None, method: str, path: str, headers: Mapping[bytes, bytes]
    ) -> User:
        """Who asks, or in whose name, if that user may do it. Raises ApiError."""
        user = self._authenticator.user(headers, scope)
        if user is None and shown_token(headers):
            raise status.unauthorized()
        caller = user or _ANONYMOUS
        wanted = impersonation.wanted(scope["headers"])
        if wanted is None and MASTERS in caller.groups:
            return caller
        access = asked(info, method, path, scope["query_string"])
        if wanted is not None:
            caller = self._impersonation.permitted(caller, wanted, access)
        self._authorizer.require(caller, access)
        if access.subresource in KINDS and access.resource == "pods" and access.verb == "get":
            # a WebSocket is opened with GET, and does no less than what POST does
            decision = self._authorizer.authorize(caller, replace(access, verb="create"))
            if not decision.allowed:
                raise refused(access.group, access.resource, access.name, decision.reason)
        return caller

    def _not_found(self, path: str) -> Response:
        parts = path.split("/")
        group = parts[2] if parts[1:2] == ["apis"] and len(parts) > 2 else ""
        known = parts[1:2] in (["api"], ["version"]) or (group and self._core.registry.has_builtin_group(group))
        if known:
            raise status.no_such_resource()
        return _NOT_FOUND

    def _handler(self, info: RequestInfo, resource: Resource, query: Query) -> Handler:
        if info.namespace and not resource.namespaced:
            raise status.no_such_resource()
        verb = "watch" if info.verb == "list" and flag(query, "watch") else info.verb
        if info.subresource:
            special = self._subresources.get((resource.qualified_name, info.subresource)) or self._subresources.get(
                ("*", info.subresource)
            )
            if info.subresource not in resource.subresources:
                raise status.no_such_resource() if resource.builtin else status.not_found(resource, info.name)
            if special is not None:
                handler = special.get(info.verb)
                if handler is None:
                    raise status.method_not_allowed()
                return handler
            if info.subresource != "status" or verb not in _STATUS_VERBS:
                raise status.method_not_allowed()
            return _VERBS[verb]
        if info.name and resource.builtin and not _NAMED_VERBS & set(resource.verbs):
            raise status.no_such_resource()
        if verb == "create" and ((info.name and resource.builtin) or (resource.namespaced and not info.namespace)):
            raise status.method_not_allowed()
        if verb in {"update", "patch"} and not info.name:
            raise status.method_not_allowed() if resource.builtin else status.bad_request("name must be provided")
        if verb == "deletecollection" and resource.namespaced and not info.namespace:
            raise status.method_not_allowed()
        if resource.namespaced and info.name and not info.namespace:
            raise status.no_such_resource()
        handler = self._virtual.get(resource.qualified_name) if verb == "create" else None
        handler = handler or _VERBS.get(verb)
        if handler is None or verb not in resource.verbs:
            raise status.method_not_allowed()
        return handler


def _check_old_watch(info: RequestInfo | None, method: str) -> None:
    """The old paths of watches have the right to watch asked for, and so must lead to nothing but a watch."""
    if info is None or info.verb != "watch":
        return
    if info.subresource:
        raise status.no_such_resource()
    if method != "GET":
        raise status.method_not_allowed()


def answers_plainly(target: bytes) -> bool:
    """Whether a request for a WebSocket is answered as if it asked for none: it is no stream, or not for us."""
    path, _, query = target.decode("latin-1").partition("?")
    info = parse("GET", unquote(path))
    if info is None or info.subresource == "proxy":
        return True
    if info.verb == "watch":
        return bool(info.subresource)
    watches = info.verb == "list" and flag(parse_qs(query, keep_blank_values=True), "watch")
    return info.subresource not in KINDS and not watches


def failure(error: status.ApiError, warnings: list[str], accept: bytes = b"") -> Response:
    """A failure as its Status, in YAML or protobuf for who reads nothing else."""
    headers = warning_headers(warnings)
    retry = (error.details or {}).get("retryAfterSeconds")
    if retry:
        headers = (*headers, (b"retry-after", str(retry).encode()))
    body = orjson.dumps(error.status())
    if accept == b"application/yaml":
        return Response(error.code, to_yaml(body), b"application/yaml", headers)
    if accept and only_protobuf(accept) and (encoded := to_protobuf(body)) is not None:
        return Response(error.code, encoded, PROTOBUF.encode(), headers)
    return Response(error.code, body, headers=headers)


def _asked(scope: Scope) -> tuple[str, dict[bytes, bytes], Query]:
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    raw_query: bytes = scope["query_string"]
    query: Query = parse_qs(raw_query.decode("latin-1"), keep_blank_values=True) if raw_query else {}
    return unquote(raw_path.partition(b"?")[0].decode("latin-1")), dict(scope["headers"]), query


async def _read_body(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
    length = headers.get(b"content-length")
    if length is not None and int(length) > status.MAX_BODY:
        raise status.too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise status.bad_request("the client went away before its request was read")
        part = message.get("body", b"")
        size += len(part)
        if size > status.MAX_BODY:
            raise status.too_large()
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _problem(error: Exception, scope: Scope) -> status.ApiError:
    """What the caller is told of a request that failed."""
    match error:
        case status.ApiError():
            return error
        case Overloaded():
            return status.too_many_requests()
        case StoreClosed() | StoreFailed():
            return status.unavailable("the server is shutting down")
        case _:
            _log.error("request failed: %s %r", scope.get("method", "GET"), scope["path"], exc_info=error)
            return status.internal("the server met an unexpected condition; see its log")


async def _refuse_socket(answer: Response, receive: Receive, send: Send) -> None:
    await receive()
    length = (b"content-length", str(len(answer.body)).encode())
    headers = [(b"content-type", answer.content_type), length, *answer.headers]
    await send({"type": "websocket.http.response.start", "status": answer.code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": answer.body})


async def _send_response(answer: Response, send: Send, *, head: bool) -> None:
    headers = [
        *([(b"content-type", answer.content_type)] if answer.content_type else []),
        (b"content-length", str(len(answer.body)).encode()),
        *_COMMON_HEADERS,
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.code, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


async def _send_stream(answer: Stream, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", answer.content_type), *_COMMON_HEADERS]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    # an empty chunk flushes the headers: a client may wait for them before the first event
    await send({"type": "http.response.body", "body": b"", "more_body": True})

    async def pump() -> None:
        async for chunk in answer.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    pumping = asyncio.ensure_future(pump())
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({pumping, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        pumping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await pumping


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
