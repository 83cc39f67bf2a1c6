"""What runs in a pod of the tests: HTTP on 8000, and on 9000 whatever was said comes back in capitals at its end."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import json
import os
import socketserver
import threading
from typing import Any


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        if self.headers.get("Upgrade") == "websocket":
            self.upgrade()
            return
        chunked = self.headers.get("Transfer-Encoding") == "chunked"
        body = self.chunks() if chunked else self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        told = {"line": self.requestline, "headers": self.headers.items(), "body": body.decode("latin-1")}
        page = b'<html><a href="/hello">h</a><a href="rel">r</a></html>'
        match path:
            case "/hello":
                self.say(200, f"hello from {os.environ['HOSTNAME']}".encode())
            case "/redirect":
                self.say(302, b"", Location="/hello?x=1")
            case "/page":
                self.say(200, gzip.compress(page), **{"Content-Type": "text/html", "Content-Encoding": "gzip"})
            case "/missing":
                self.say(404, b"not here", **{"Set-Cookie": "a=b"})
            case "/stream":
                self.stream()
            case "/broken":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"half")
                self.close_connection = True
            case _:
                self.say(200, json.dumps(told).encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer  # noqa: N815

    def chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def stream(self) -> None:
        # the second part is said only once the caller has opened another page: it must have seen the first
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nfirst\r\n")
        self.wfile.flush()
        seen.wait(60)
        self.wfile.write(b"6\r\nsecond\r\n0\r\n\r\n")

    def upgrade(self) -> None:
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header(
            "Sec-WebSocket-Accept",
            base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode(),
        )
        self.end_headers()
        self.wfile.write(b"\x81\x05hello")
        self.wfile.flush()
        self.rfile.read(1)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        if self.path == "/seen":
            seen.set()


class Capitals(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(self.rfile.read().upper())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128


seen = threading.Event()
threading.Thread(target=Server(("0.0.0.0", 9000), Capitals).serve_forever, daemon=True).start()
http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Pages).serve_forever()
