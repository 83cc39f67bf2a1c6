"""The routes of the endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import orjson

from rayward.kube.core.meta import parse_time
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.local.node.agent import Agent
from rayward.local.node.endpoint import forwarding, streams
from rayward.local.node.endpoint.access import Gate
from rayward.local.node.endpoint.channels import SPDY_PROTOCOLS, SocketChannels
from rayward.local.node.endpoint.forwarding import Forwarding, forward_channels, until_gone
from rayward.local.node.endpoint.refusal import Refusal
from rayward.local.node.endpoint.switching import agreed, command_of, negotiated, serve_command
from rayward.local.node.logs import reader
from rayward.local.node.logs.reader import Wanted
from rayward.local.node.pod.facts import UNKNOWN
from rayward.local.node.work import sandboxing
from rayward.local.node.work.asking import Refused
from rayward.local.node.work.worker import PodWorker
from rayward.net.duplex import join
from rayward.net.server import Leaving
from rayward.net.spdysession import Session

Send = Callable[[Object], Awaitable[None]]
Receive = Callable[[], Awaitable[Object]]

_MOST_QUERY: Final = 64 * 1024
_MOST_PORTS: Final = 100
_SPDY: Final = "spdy/3.1"


class Endpoint:
    def __init__(self, agent: Agent, gate: Gate) -> None:
        self._agent = agent
        self._gate = gate

    async def __call__(self, scope: Object, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        try:
            await self._admit(scope)
            if scope["type"] == "websocket":
                await self._stream(scope, receive, send)
            else:
                await self._answer(scope, receive, send)
        except Refusal as refusal:
            await _refuse(scope, receive, send, refusal)

    async def _admit(self, scope: Object) -> None:
        if scope["path"] == "/healthz":
            return
        if len(scope.get("query_string") or b"") > _MOST_QUERY:
            raise Refusal(414, "the query is too long")
        token = _header(scope, b"authorization").removeprefix("Bearer ")
        certificate = (section(section(scope, "extensions"), "tls")).get("client_subject")
        status = await self._gate.check(certificate, token)
        if status != 200:
            reasons = {401: "Unauthorized", 403: "Forbidden"}
            raise Refusal(status, reasons.get(status, "Authorization error: the API server could not be asked"))

    async def _answer(self, scope: Object, receive: Receive, send: Send) -> None:
        parts = [unquote(part) for part in scope["path"].strip("/").split("/")]
        if parts == ["healthz"]:
            await _say(send, 200, b"ok")
        elif parts == ["pods"]:
            pods = [worker.pod for worker in self._agent.workers]
            await _say(send, 200, orjson.dumps({"kind": "PodList", "apiVersion": "v1", "items": pods}), _JSON)
        elif parts[0] == "containerLogs" and len(parts) == 4:
            await self._log(parts[1:], _query(scope), receive, send)
        elif parts[0] in ("exec", "attach", "portForward", "connect"):
            await self._switch(parts, scope)
        else:
            raise Refusal(404, "404 page not found")

    async def _log(self, names: list[str], query: dict[str, str], receive: Receive, send: Send) -> None:
        namespace, name, container = names
        worker = self._worker(namespace, name, container)
        run = worker.containers.get(container, UNKNOWN).run
        attempt = run.attempt if run is not None else -1
        if query.get("previous") == "true":
            attempt -= 1
            if attempt < 0:
                raise Refusal(400, f'previous terminated container "{container}" in pod "{name}" not found')
        elif run is None:
            why = _waiting_reason(worker.pod, container)
            raise Refusal(400, f'container "{container}" in pod "{name}" is waiting to start: {why}')
        wanted = wanted_log(query, datetime.now(UTC))
        path = worker.folder.log(container, attempt)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        if not wanted.follow:
            body = await asyncio.to_thread(reader.text, path, wanted)
            await send({"type": "http.response.body", "body": body})
            return

        def ended() -> bool:
            now = worker.containers.get(container, UNKNOWN).run
            return now is None or now.attempt != attempt or now.over

        await _until_gone(receive, _send_parts(reader.followed(path, wanted, ended), send))

    def _worker(self, namespace: str, name: str, container: str | None) -> PodWorker:
        worker = self._agent.worker(namespace, name)
        if worker is None:
            raise Refusal(404, f'pod "{name}" does not exist')
        if container is not None and all(found["name"] != container for found in sandboxing.all_containers(worker.pod)):
            raise Refusal(404, f'container "{container}" not found in pod "{name}_{namespace}"')
        return worker

    async def _stream(self, scope: Object, receive: Receive, send: Send) -> None:
        parts = [unquote(part) for part in scope["path"].strip("/").split("/")]
        query = _all_query(scope)
        if parts[0] == "portForward" and len(parts) in (3, 4):
            worker, ports = self._worker(parts[1], parts[2], None), _ports(query)
            channels = SocketChannels(scope, receive, send)
            if await channels.accept():
                await until_gone(worker, forward_channels(worker, ports, channels))
                await channels.close()
            return
        worker, container = self._running(parts)
        channels = SocketChannels(scope, receive, send)
        if await channels.accept():
            await command_of(parts[0])(worker, container, query, channels)

    async def _switch(self, parts: list[str], scope: Object) -> None:
        """Leave HTTP for SPDY, or for the bytes of one connection into a pod."""
        connection: Leaving | None = section(scope, "extensions").get("connection")
        wanted = connection.asked_upgrade() if connection is not None else ""
        if connection is None or wanted != ("tcp" if parts[0] == "connect" else _SPDY):
            raise Refusal(400, "Upgrade request required")
        if parts[0] == "connect" and len(parts) == 3:
            await self._connect(connection, self._worker(parts[1], parts[2], None), _query(scope))
        elif parts[0] == "portForward" and len(parts) in (3, 4):
            worker = self._worker(parts[1], parts[2], None)
            protocol = negotiated(scope, (forwarding.PROTOCOL,))
            async with Session(connection.switch(agreed(_SPDY.upper(), protocol)), server=True) as session:
                await until_gone(worker, Forwarding(worker, session).run())
        else:
            worker, container = self._running(parts)
            protocol = negotiated(scope, SPDY_PROTOCOLS)
            async with Session(connection.switch(agreed(_SPDY.upper(), protocol)), server=True) as session:
                await serve_command(parts[0], worker, container, _all_query(scope), session, protocol)

    async def _connect(self, connection: Leaving, worker: PodWorker, query: dict[str, str]) -> None:
        port = query.get("port", "")
        if not port.isdigit():
            raise Refusal(400, f"port {port!r} is no number")
        try:
            inner = await forwarding.connect_for_proxy(worker, int(port), tls=query.get("scheme") == "https")
        except Refused as error:
            raise Refusal(502, str(error)) from error
        await until_gone(worker, join(connection.switch(agreed("tcp")), inner))

    def _running(self, parts: list[str]) -> tuple[PodWorker, str]:
        if parts[0] not in ("exec", "attach") or len(parts) not in (4, 5):
            raise Refusal(404, "404 page not found")
        container = parts[-1]
        worker = self._worker(parts[1], parts[2], container)
        if not worker.containers.get(container, UNKNOWN).running or worker.line is None:
            raise Refusal(400, f'container "{container}" is not running')
        return worker, container


def _ports(query: streams.Query) -> list[int]:
    texts = [text for value in query.get("port", ()) for text in value.split(",")]
    if not texts or len(texts) > _MOST_PORTS:
        raise Refusal(400, 'query parameter "port" is required')
    for text in texts:
        if not text.isdigit() or not 0 < int(text) < 1 << 16:
            raise Refusal(400, f"unable to parse {text!r} as a port")
    return [int(text) for text in texts]


def wanted_log(query: dict[str, str], now: datetime) -> Wanted:
    """Which part of a log a query asks for.

    Raises:
        Refusal: A number or time cannot be read.
    """
    try:
        since = ""
        if query.get("sinceSeconds"):
            since = _log_time(now - timedelta(seconds=int(query["sinceSeconds"])))
        elif query.get("sinceTime"):
            since = _log_time(parse_time(query["sinceTime"]))
        return Wanted(
            follow=query.get("follow") == "true",
            tail=int(query["tailLines"]) if query.get("tailLines") else None,
            since=since,
            limit=int(query["limitBytes"]) if query.get("limitBytes") else None,
            timestamps=query.get("timestamps") == "true",
            stream=query.get("stream", ""),
        )
    except (ValueError, OverflowError) as error:
        raise Refusal(400, f"Unable to decode query: {error}") from error


def _log_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def _waiting_reason(pod: Object, container: str) -> str:
    status = sandboxing.told_statuses(pod).get(container) or {}
    return (section(section(status, "state"), "waiting")).get("reason") or "ContainerCreating"


async def _send_parts(parts: Any, send: Send) -> None:
    async for piece in parts:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive, work: Any) -> None:
    """Do ``work``, but not for a client that has gone."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    done, _ = await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
    for one in (task, gone):
        one.cancel()
    await asyncio.gather(task, gone, return_exceptions=True)
    if task in done:
        task.result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_JSON: Final = b"application/json"


async def _say(send: Send, status: int, body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse(scope: Object, receive: Receive, send: Send, refusal: Refusal) -> None:
    if scope["type"] == "http":
        await _say(send, refusal.status, f"{refusal}\n".encode())
        return
    await receive()
    body = f"{refusal}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


def _header(scope: Object, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _query(scope: Object) -> dict[str, str]:
    return {name: values[0] for name, values in _all_query(scope).items()}


def _all_query(scope: Object) -> dict[str, list[str]]:
    return parse_qs((scope.get("query_string") or b"").decode("latin-1"), keep_blank_values=True)
