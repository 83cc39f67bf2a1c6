"""A plain HTTP or HTTPS server of the standard library, and a proxy, for tests of our clients."""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rayward.net.certificates import Pair, issue_client, issue_server, make_authority


class Handler(BaseHTTPRequestHandler):
    """Answers by path; ``/echo`` tells what arrived."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        peer = self.peer
        with peer.lock:
            peer.seen.append(self.path)
        path = self.path.partition("?")[0]
        answer = peer.answers.get(path)
        if answer is not None:
            answer(self)
        else:
            self.reply(200, json.dumps(self.told()).encode())

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    @property
    def peer(self) -> Peer:
        assert isinstance(self.server, Peer)
        return self.server

    def told(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length") or 0)
        names = set(self.headers)
        certificate: Any = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject: dict[str, str] = dict(pair for group in (certificate or {}).get("subject", ()) for pair in group)
        return {
            "method": self.command,
            "path": self.path,
            "headers": {name: self.headers.get_all(name) for name in names},
            "body": self.rfile.read(length).decode(),
            "client": subject.get("commonName"),
            "connection": self.client_address[1],
        }

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def chunks(self, *parts: bytes, end: bool = True) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        if end:
            self.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class Peer(ThreadingHTTPServer):
    """A listening server; ``answers`` says what paths other than ``/echo`` do."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Callable[[Handler], None]] = {}
        self.seen: list[str] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        """Set at the end: handlers that never answer wait for it."""
        self._tls = tls
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        if self._tls is not None:
            connection.settimeout(20)
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or does not trust us, is what some tests are about."""

    def silence(self, _: Handler) -> None:
        self.released.wait(20)


@contextmanager
def peer(tls: ssl.SSLContext | None = None) -> Generator[Peer]:
    """A server for the length of a ``with`` block."""
    server = Peer(tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Identities:
    """An authority, a server's certificate and a client's."""

    def __init__(self, folder: Path, hosts: tuple[str, ...] = ("127.0.0.1",)) -> None:
        self.authority: Pair = make_authority("tests")
        self.server = issue_server(self.authority, "server", hosts)
        self.client = issue_client(self.authority, "alice", ["team"])
        self.folder = folder

    @property
    def trust(self) -> str:
        return self.authority.certificate.decode()

    def server_context(self, *, demand: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        file = self.folder / "server.pem"
        file.write_bytes(self.server.certificate + self.server.key)
        context.load_cert_chain(file)
        context.load_verify_locations(cadata=self.trust)
        context.verify_mode = ssl.CERT_REQUIRED if demand else ssl.CERT_OPTIONAL
        return context


class Proxy:
    """A CONNECT proxy that also forwards plain requests to the one server it is told of."""

    def __init__(self, *, user: str | None = None) -> None:
        self.asked: list[str] = []
        self._user = user
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.02)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, near: socket.socket) -> None:
        with near:
            head = b""
            while b"\r\n\r\n" not in head:
                head += near.recv(4096)
            first = head.split(b"\r\n", 1)[0].decode()
            self.asked.append(first)
            if self._user is not None and b"Basic " + b64encode(self._user.encode()) not in head:
                near.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            method, target, _ = first.split(" ")
            place = target if method == "CONNECT" else target.split("/")[2]
            host, _, port = place.partition(":")
            with socket.create_connection((host, int(port))) as far:
                if method == "CONNECT":
                    near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    far.sendall(head)
                self._join(near, far)

    def _join(self, near: socket.socket, far: socket.socket) -> None:
        while not self._stop.is_set():
            for ready in select.select([near, far], [], [], 0.02)[0]:
                data = ready.recv(65536)
                if not data:
                    return
                (far if ready is near else near).sendall(data)


class Once:
    """The first answer differs from all later ones."""

    def __init__(self, first: Callable[[Handler], None], later: Callable[[Handler], None]) -> None:
        self._answers: Iterator[Callable[[Handler], None]] = iter([first])
        self._later = later

    def __call__(self, handler: Handler) -> None:
        next(self._answers, self._later)(handler)
