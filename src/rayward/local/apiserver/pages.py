"""Paths that are no resources: version, health and metrics."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping

import orjson

from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.options import Query
from rayward.local.apiserver.request import Response

_TEXT = b"text/plain; charset=utf-8"
_VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3+rayward",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": f"python{platform.python_version()}",
    "compiler": platform.python_implementation(),
    "platform": f"linux/{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }",
}
_HEALTH = frozenset({"/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/readyz/ping"})
_ROOT = ("/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version")


class Pages:
    """Answers the small pages."""

    def __init__(self, metrics: Callable[[], bytes]) -> None:
        self._metrics = metrics

    async def __call__(
        self, core: Core, _user: User, path: str, query: Query, _headers: Mapping[bytes, bytes], _body: bytes
    ) -> Response | None:
        """Answer one of the small pages; None for any other path."""
        if path in {"/version", "/version/"}:
            return Response(200, orjson.dumps(_VERSION, option=orjson.OPT_INDENT_2))
        if path in _HEALTH:
            if "verbose" in query:
                name = path.strip("/")
                return Response(200, f"[+]ping ok\n[+]store ok\n{name} check passed\n".encode(), _TEXT)
            return Response(200, b"ok", _TEXT)
        if path == "/metrics":
            return Response(200, self._metrics(), b"text/plain; version=0.0.4; charset=utf-8")
        if path in {"/", ""}:
            groups = sorted({f"/apis/{r.group}" for r in core.registry if r.group})
            versions = sorted({f"/apis/{r.api_version}" for r in core.registry if r.group})
            return Response(200, orjson.dumps({"paths": sorted({*_ROOT, *groups, *versions})}))
        return None
