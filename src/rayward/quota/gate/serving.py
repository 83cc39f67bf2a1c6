"""Serves the webhook of the gate over TLS."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any, Final, Self

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.core.rbac import rule
from rayward.kube.core.resource import SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.runtime.authority import authority_of
from rayward.net.certificates import Pair, issue_server
from rayward.net.server import Application, Server, ServerTls, listen
from rayward.quota.gate.registering import keep_registered, own_name
from rayward.quota.gate.webhook import PATH, answer

AUTHORITY: Final = "rayward-gate-webhook"
"""The Secret with the authority that signs the webhook's certificate."""
RULES: Final = (
    rule(("get", "create"), SECRETS),
    rule(("create", "patch", "delete"), VALIDATING_WEBHOOK_CONFIGURATIONS),
)
"""What the process needs beside the gate's rights; its discovery and its own name everybody may read."""
_LARGEST: Final = 8 * 1024 * 1024
"""A review holds an object twice, and etcd takes 1.5 MiB of one."""

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Where the webhook is served, and how the API server comes there."""

    host: str
    port: int
    service: tuple[str, str, int] | None = None
    """Namespace, name and port of a Service; without one the API server uses the address."""
    always: bool = False
    """Whether it is wanted also where the API server has policies."""

    @property
    def hosts(self) -> list[str]:
        """Names that the certificate is for."""
        if self.service is None:
            return [self.host]
        namespace, name, _ = self.service
        return [f"{name}.{namespace}.svc"]

    def client(self, port: int) -> Object:
        """The clientConfig of the webhook, which listens on ``port``."""
        if self.service is None:
            host = f"[{self.host}]" if ":" in self.host else self.host
            return {"url": f"https://{host}:{port}{PATH}"}
        namespace, name, port = self.service
        return {"service": {"namespace": namespace, "name": name, "port": port, "path": PATH}}


class Webhook:
    """The webhook of one process: it listens once it is made, and answers within ``serving``."""

    def __init__(self, client: Client, settings: WebhookSettings, account: str, authority: Pair) -> None:
        self._client = client
        self._settings = settings
        self._account = account
        self._authority = authority.certificate
        listener = listen(settings.host or "0.0.0.0", settings.port)  # noqa: S104 - ":9443" asks for it
        self._reached = settings.client(listener.getsockname()[1])
        pair = issue_server(authority, "rayward-gate", settings.hosts)
        self._server = _server(_Reviews(account), listener, pair)

    @classmethod
    async def make(cls, client: Client, settings: WebhookSettings, namespace: str) -> Self:
        """Where the authority is in ``namespace``.

        Raises:
            ApiError: The process may not do what the webhook needs.
            UnreadableAuthorityError: The authority is there, and damaged.
            OSError: The address is taken.
        """
        account = await own_name(client)
        return cls(client, settings, account, await authority_of(client, namespace, AUTHORITY))

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Answer the API server, and keep it told, as long as the block lasts."""
        await self._server.start()
        # no group of tasks: that would wrap what the block raises
        keeping = asyncio.create_task(self._keep_registered())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self._server.stop()

    async def _keep_registered(self) -> None:
        always = self._settings.always
        await keep_registered(self._client, self._account, self._reached, self._authority, always=always)


def _server(application: Application, listener: socket, pair: Pair) -> Server:
    """The certificate is read when the server is made, and from files only."""
    with tempfile.TemporaryDirectory(prefix="rayward-webhook-") as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        return Server(application, listener, ServerTls(certificate, key))


class _Reviews:
    """Answers reviews (ASGI)."""

    def __init__(self, account: str) -> None:
        self._accounts = (account,)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, body = 404, b"there is POST /gate\n"
        if scope["path"] == PATH and scope["method"] == "POST":
            status, body = self._answer(await _body(receive))
        kind = b"application/json" if status == 200 else b"text/plain; charset=utf-8"
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, body: bytes | None) -> tuple[int, bytes]:
        try:
            review = msgspec.json.decode(body, type=dict[str, Any]) if body is not None else {}
        except msgspec.DecodeError:
            review = {}
        if not section(review, "request"):
            return 400, b"this is no AdmissionReview\n"
        return 200, msgspec.json.encode(answer(review, self._accounts))


async def _body(receive: Receive) -> bytes | None:
    """None if it is too large."""
    read = bytearray()
    while True:
        message = await receive()
        read += message.get("body", b"")
        if len(read) > _LARGEST or message["type"] != "http.request":
            return None
        if not message.get("more_body"):
            return bytes(read)
