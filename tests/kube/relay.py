"""Stands in for kube-proxy: lets a port of this machine answer where an API server looks for a Service."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import yaml

_LARGEST_HEADER: Final = 64 * 1024

Port = Callable[[], int]
"""The port that answers now: a program that was started again has another one."""


@contextlib.contextmanager
def listening_at(host: str, port: int, answers: Port) -> Generator[None]:
    """Connections to an address of this machine go to the port."""
    with _serving(socket.create_server((host, port)), answers, connect=False):
        yield


@contextlib.contextmanager
def connecting_through(path: Path, answers: Port) -> Generator[None]:
    """An HTTP CONNECT proxy on a Unix socket that ends at the port, whatever address it is asked for."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(128)
    with _serving(listener, answers, connect=True):
        yield


def egress_config(path: Path) -> str:
    """A kube-apiserver's configuration for reaching Services (so webhooks) through that proxy."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(path)}}}
    return yaml.safe_dump(
        {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }
    )


@contextlib.contextmanager
def _serving(listener: socket.socket, answers: Port, *, connect: bool) -> Generator[None]:
    threading.Thread(target=_forward, args=(listener, answers, connect), daemon=True).start()
    try:
        yield
    finally:
        listener.close()


def _forward(listener: socket.socket, answers: Port, connect: bool) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_relay, args=(caller, answers, connect), daemon=True).start()


def _relay(caller: socket.socket, answers: Port, connect: bool) -> None:
    with caller, contextlib.suppress(OSError):
        if connect and not _asked(caller):
            return
        with socket.create_connection(("127.0.0.1", answers()), timeout=None) as called:
            if connect:
                caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_pump, args=(called, caller), daemon=True)
            back.start()
            _pump(caller, called)
            back.join()


def _asked(caller: socket.socket) -> bool:
    """Read the head of a CONNECT; its sender waits for the answer before it sends more."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = caller.recv(4096)
        head += data
        if not data or len(head) > _LARGEST_HEADER:
            return False
    return head.startswith(b"CONNECT ")


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
