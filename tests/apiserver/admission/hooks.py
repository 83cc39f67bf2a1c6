"""A webhook server for tests: HTTPS on loopback, told what to answer on which path."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rayward.net.certificates import issue_server, make_authority

Object = dict[str, Any]
Decide = Callable[[Object], "Object | bytes | None"]
"""From the request of a review to the response; bytes are sent as they are, None is never answered."""


def allow(_: Object) -> Object:
    """Nothing against it."""
    return {"allowed": True}


def patch(*operations: Object) -> Object:
    """Allowed, with changes."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


class HookServer:
    """What is asked of the webhooks, and what they answer."""

    def __init__(self, url: str, authority: bytes) -> None:
        self.url = url
        self.ca_bundle = base64.b64encode(authority).decode()
        self.answers: dict[str, Decide] = {}
        self.asked: dict[str, list[Object]] = {}
        self.over = threading.Event()

    def answer(self, path: str, review: Object) -> bytes | None:
        """The body that a review gets; None if it gets none before the test is over."""
        request = review["request"]
        self.asked.setdefault(path, []).append(request)
        decided = self.answers[path](request)
        if decided is None or isinstance(decided, bytes):
            return decided
        response = {"uid": request["uid"], **decided}
        return json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()


@contextlib.contextmanager
def serving() -> Generator[HookServer]:
    """A webhook server until the block ends."""
    authority = make_authority("authority of hooks")
    pair = issue_server(authority, "hooks", ("127.0.0.1",))
    with tempfile.TemporaryDirectory(prefix="rayward-hooks-") as folder:
        chain = Path(folder, "chain.pem")
        chain.write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
    listener = _Listener(("127.0.0.1", 0), _Handler)
    listener.context = context
    listener.hooks = HookServer(f"https://127.0.0.1:{listener.server_address[1]}", authority.certificate)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield listener.hooks
    finally:
        listener.hooks.over.set()
        listener.shutdown()
        thread.join()
        listener.server_close()


class _Listener(ThreadingHTTPServer):
    context: ssl.SSLContext
    hooks: HookServer

    def finish_request(self, request: Any, client_address: Any) -> None:
        # in the thread of the request: a client that never greets holds up no other
        with contextlib.suppress(OSError), self.context.wrap_socket(request, server_side=True) as connection:
            _Handler(connection, client_address, self)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, _Listener)
        hooks = self.server.hooks
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = hooks.answer(self.path.partition("?")[0], review)
        if body is None:
            hooks.over.wait()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""
