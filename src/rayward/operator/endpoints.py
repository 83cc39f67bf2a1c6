"""What the operator tells over HTTP: health for probes, metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from socket import socket
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from rayward.kube.runtime.health import Health
from rayward.net.server import Server, listen

_PROMETHEUS = b"text/plain; version=0.0.4; charset=utf-8"
_PLAIN = b"text/plain; charset=utf-8"

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Endpoints:
    """Listens on the addresses that are asked for; ``0`` or nothing means none, as controller-runtime has it."""

    def __init__(self, registry: CollectorRegistry, alive: Health, ready: Health) -> None:
        self._registry = registry
        self._alive = alive
        self._ready = ready
        self._servers: list[Server] = []

    async def start(self, *addresses: str) -> tuple[str, int] | None:
        """Answer on each address; equal ones are one. Gives back where the first is served: port 0 takes a free one."""
        listeners: list[socket] = []
        for address in dict.fromkeys(addresses):
            if address in ("", "0"):
                continue
            host, _, port = address.rpartition(":")
            listeners.append(listen(host or "0.0.0.0", int(port)))  # noqa: S104 - ":8080" asks for it
            self._servers.append(server := Server(self, listeners[-1]))
            await server.start()
        return listeners[0].getsockname()[:2] if listeners else None

    async def stop(self) -> None:
        for server in self._servers:
            await server.stop()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        """Answer one request (ASGI)."""
        if scope["type"] != "http":
            return
        status, kind, body = self._page(scope["path"])
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _page(self, path: str) -> tuple[int, bytes, bytes]:
        if path == "/metrics":
            return 200, _PROMETHEUS, generate_latest(self._registry)
        if path in ("/healthz", "/readyz"):
            report = (self._alive if path == "/healthz" else self._ready).report()
            return 200 if report.healthy else 500, _PLAIN, report.text.encode()
        return 404, _PLAIN, b"there are /metrics, /healthz and /readyz\n"
