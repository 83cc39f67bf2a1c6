"""Questions to a real kube-apiserver over one connection."""

from __future__ import annotations

import http.client
import json
import ssl
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.kube.real.cluster import RealControlPlane

Object = dict[str, Any]


class Server:
    """A client that keeps its connection until it is closed; only for one thread."""

    def __init__(self, plane: RealControlPlane) -> None:
        parts = urlsplit(plane.url)
        assert parts.hostname
        context = ssl.create_default_context(cafile=str(plane.ca_file))
        self._connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=60)
        self._headers = {"Authorization": f"Bearer {plane.token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def get(self, path: str, accept: str = "application/json") -> Any:
        """The answer to a GET that must succeed."""
        code, answer = self.send("GET", path, accept=accept)
        if code != 200:
            raise RuntimeError(f"GET {path}: {code} {answer}")
        return answer

    def send(
        self,
        method: str,
        path: str,
        body: Object | bytes | None = None,
        accept: str = "application/json",
        content_type: str = "application/json",
    ) -> tuple[int, Any]:
        """Code and decoded answer of any request; the path has no leading slash."""
        headers = {**self._headers, "Accept": accept, "Content-Type": content_type}
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        self._connection.request(method, f"/{path}", content, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())
