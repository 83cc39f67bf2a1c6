"""A server under test, asked over plain HTTP/1.1: nothing of ours lies between a case and the wire."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.contract import protobuf

_PATIENCE = 150.0
_KINDS_OF_FRAMES = {1: "text", 2: "binary", 8: "close"}
AGENT = "contract/1.0"


@dataclass(frozen=True)
class Server:
    """Where a server listens and how to be let in."""

    url: str
    token: str
    ca: str = ""  # PEM; empty trusts whatever answers

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Server:
        """The current context's server of a kubeconfig file."""
        config = yaml.safe_load(path.read_text())
        context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
        cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
        user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
        if file := cluster.get("certificate-authority"):
            ca = Path(file).read_text()
        else:
            ca = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
        return cls(cluster["server"], user.get("token", ""), ca)

    def connect(self) -> Connection:
        """A connection of its own; not to be shared by threads."""
        return Connection(self)

    def tls(self) -> ssl.SSLContext:
        """The TLS settings to reach it."""
        context = ssl.create_default_context(cadata=self.ca or None)
        if not self.ca:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True)
class Reply:
    """What came back, unmasked."""

    code: int
    headers: http.client.HTTPMessage
    content: bytes
    events: list[str] | None = None  # of a watch: the lines
    ended: bool = False  # the server closed the watch

    def json(self) -> Any:
        """The body as JSON shows it, or None."""
        try:
            if self.content.startswith(protobuf.MAGIC):
                return protobuf.shown(self.content)
            return json.loads(self.content)
        except ValueError:
            return None


class Connection:
    """One kept-alive connection, opened again when the server closed it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._tls = server.tls()
        self._http: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        """Closes it."""
        if self._http:
            self._http.close()
            self._http = None

    def send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], events: int | None = None
    ) -> Reply:
        """One request and its answer; a watch is read for so many events, or until closed when 0."""
        sent = {"User-Agent": AGENT, "Accept": "application/json", **headers}
        if self._server.token:
            sent.setdefault("Authorization", f"Bearer {self._server.token}")
        response = self._respond(method, path, body, {k: v for k, v in sent.items() if v})
        try:
            if events is None or response.status != 200:
                return Reply(response.status, response.headers, response.read())
            binary = response.headers.get("Content-Type", "").startswith(protobuf.MEDIA)
            lines = list((_messages if binary else _lines)(response, events))
            return Reply(200, response.headers, b"", lines, ended=events == 0 or len(lines) < events)
        finally:
            if events is not None or response.headers.get("Connection", "").lower() == "close":
                self.close()

    def socket(self, path: str, headers: Mapping[str, str], frames: int) -> Reply:
        """The answer to a request for a WebSocket; each frame is told with its kind, for its kind counts too."""
        target = urlsplit(self._server.url)
        sent = {
            "Host": target.netloc,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(b"sixteen letters!").decode(),
            "Authorization": f"Bearer {self._server.token}",
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
        plain = socket.create_connection((target.hostname or "", target.port or 443), timeout=_PATIENCE)
        with self._tls.wrap_socket(plain, server_hostname=target.hostname) as stream, stream.makefile("rb") as lines:
            stream.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
            code = int(lines.readline().split()[1])
            told = http.client.parse_headers(lines)
            if code != 101:
                return Reply(code, told, lines.read(int(told.get("Content-Length") or 0)))
            read = list(_frames(lines, frames))
            return Reply(code, told, b"", read, ended=frames == 0 or len(read) < frames)

    def _respond(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        for attempt in (1, 2):
            kept = self._http is not None
            target = urlsplit(self._server.url)
            self._http = self._http or http.client.HTTPSConnection(
                target.hostname or "", target.port, timeout=_PATIENCE, context=self._tls
            )
            try:
                try:
                    self._http.request(method, path, body, dict(headers))
                except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                    # A server that refuses a body answers before it has read all of it.
                    if kept:
                        raise
                return self._http.getresponse()
            except (http.client.HTTPException, OSError):
                self.close()
                if attempt == 2 or not kept:
                    raise
        raise AssertionError("unreachable")


def _frames(stream: io.BufferedReader, count: int) -> Iterator[str]:
    """So many frames of a WebSocket, as kind and text; with 0 all until the server closes."""
    seen = 0
    while len(start := stream.read(2)) == 2:
        length = start[1] & 127
        if length > 125:
            length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
        data = stream.read(length)
        kind = _KINDS_OF_FRAMES.get(start[0] & 15, "other")
        shown: Any = data.hex()
        if kind == "text":
            shown = json.loads(data)
        elif kind == "binary":
            shown = protobuf.event(data)
        line = kind == "text" and data.endswith(b"\n")
        yield json.dumps({"frame": kind, "line": line, "content": shown})
        seen += 1
        if kind == "close" or seen == count:
            return


def _lines(response: http.client.HTTPResponse, events: int) -> Iterator[str]:
    count = 0
    try:
        while line := response.readline():
            if line.strip():
                yield line.decode()
                count += 1
                if events and count == events:
                    return
    except TimeoutError:
        return


def _messages(response: http.client.HTTPResponse, events: int) -> Iterator[str]:
    """So many events of a protobuf watch; with 0 all until the server closes."""
    seen = 0
    with contextlib.suppress(TimeoutError):
        while len(length := response.read(4)) == 4:
            yield json.dumps(protobuf.event(response.read(int.from_bytes(length, "big"))))
            seen += 1
            if events and seen == events:
                return
