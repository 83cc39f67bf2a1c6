"""A listener that a Node's status names as its kubelet, and that remembers what it was shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rayward.net.certificates import issue_server, make_authority
from rayward.net.server import Server, ServerTls, listen
from rayward.net.websocket import WebSocket
from tests.apiserver.inprocess import Api

NODE = "/api/v1/nodes/fake"
POD = "/api/v1/namespaces/default/pods/p"


@dataclass(slots=True)
class FakeKubelet:
    """Answers every request with the same refusal, or with a log."""

    port: int
    status: int = 200
    text: bytes = b"said\n"
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Of the requests that came."""
    subjects: list[Any] = field(default_factory=list[Any])
    """Whose certificate came with them."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        self.subjects.append(scope.get("extensions", {}).get("tls", {}).get("client_subject"))
        kind = "http.response"
        if scope["type"] == "websocket":
            await receive()
            kind = "websocket.http.response"
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(self.text)).encode())]
        await send({"type": f"{kind}.start", "status": self.status, "headers": headers})
        await send({"type": f"{kind}.body", "body": self.text})


@asynccontextmanager
async def fake_kubelet(api: Api, folder: Path) -> AsyncGenerator[FakeKubelet]:
    """The node ``fake`` with such a kubelet, and the pod ``p`` on it."""
    pair = issue_server(make_authority("stranger"), "system:node:fake", ["127.0.0.1"])
    files = folder / "fake.crt", folder / "fake.key"
    for file, content in zip(files, (pair.certificate, pair.key), strict=True):
        file.write_bytes(content)
    listener = listen("127.0.0.1", 0)
    kubelet = FakeKubelet(listener.getsockname()[1])
    server = Server(kubelet, listener, ServerTls(*files, folder / "pki" / "ca.crt"), websocket=WebSocket)
    await server.start()
    try:
        await _register(api, kubelet.port)
        yield kubelet
    finally:
        await server.stop()


async def _register(api: Api, port: int) -> None:
    node = {
        "metadata": {"name": "fake"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    }
    assert (await api.call("POST", "/api/v1/nodes", node)).code == 201
    spec = {"nodeName": "fake", "containers": [{"name": "c", "image": "i"}]}
    await api.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {"metadata": {"name": "p"}, "spec": spec}
    assert (await api.call("POST", "/api/v1/namespaces/default/pods", pod)).code == 201
    merge = "application/merge-patch+json"
    assert (await api.call("PATCH", f"{NODE}/status", {"status": node["status"]}, merge)).code == 200
    assert (await api.call("PATCH", f"{POD}/status", {"status": {"podIP": "127.0.0.1"}}, merge)).code == 200
