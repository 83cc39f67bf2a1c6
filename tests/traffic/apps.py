"""What runs in pods, and how it is asked."""

from __future__ import annotations

import socket
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit
from uuid import uuid4

from tests.traffic.machine import Object, TrafficMachine, environment, python

TCP = """
import os, socket
server = socket.create_server(("0.0.0.0", 7000))
while True:
    client, _ = server.accept()
    client.sendall(os.environ["WORD"].encode())
    client.close()
"""
UDP = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("0.0.0.0", 7001))
while True:
    data, peer = server.recvfrom(1000)
    server.sendto(data.upper(), peer)
"""
HTTP = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = os.environ["WORD"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
"""
HELD = """
import os, socket, time
server = socket.create_server(("0.0.0.0", 8000))
while True:
    client, _ = server.accept()
    if client.recv(1000):
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\n")
        while not os.path.exists("/tmp/release"):
            time.sleep(0.02)
        client.sendall(b"end\\n")
    client.close()
"""
"""Answers once, when a file appears."""
SAY = "import socket; c = socket.create_connection(({!r}, {})); print(c.recv(100).decode())"


class App:
    """A running pod, and the label by which services find it."""

    def __init__(self, machine: TrafficMachine, script: str, port: int, word: str = "hello", **spec: str) -> None:
        self.label = {"app": uuid4().hex[:8]}
        probe: Object = {} if port == 7001 else {"readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1}}
        container = python(script, env=environment(WORD=word), **probe)
        self.pod = machine.run(container, name="", metadata={"labels": self.label}, **spec)
        self.address = machine.until_ready(self.pod)["podIP"]


def heard(host: str, port: int) -> str:
    """The first bytes that somebody says at an address."""
    with socket.create_connection((host, port), timeout=30) as client:
        return client.recv(100).decode()


def got(url: str) -> str:
    """What is at a URL; the status too where it is not 200."""
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as connection:
        connection.request("GET", parts.path)
        with connection.getresponse() as answer:
            body = answer.read().decode()
            return body if answer.status == 200 else f"{answer.status} {body}"
