"""Messages between the node, the sandbox host and the pods: one JSON object a packet, with descriptors where needed."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from typing import Any, Final

Message = dict[str, Any]

LARGEST: Final = 64 * 1024
_MOST_DESCRIPTORS: Final = 4


def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(end: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    data = json.dumps(message, separators=(",", ":")).encode()
    if len(data) > LARGEST:
        raise ValueError(f"a message of {len(data)} bytes is longer than the {LARGEST} that fit")
    if descriptors:
        socket.send_fds(end, [data], list(descriptors))
    else:
        end.send(data)


def receive(end: socket.socket) -> tuple[Message, list[int]] | None:
    """The next message and the descriptors that came with it; None at the end."""
    data, descriptors, _, _ = socket.recv_fds(end, LARGEST, _MOST_DESCRIPTORS)
    if not data:
        return None
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return json.loads(data), descriptors


def connect(folder: str, name: str) -> socket.socket:
    """Connect to a listening socket file; the path of its folder may be of any length."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        end.connect(f"/proc/self/fd/{descriptor}/{name}")
    except OSError:
        end.close()
        raise
    finally:
        os.close(descriptor)
    return end


def listen(folder: str, name: str) -> socket.socket:
    """A listening socket file, in place of what was there."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    path = f"/proc/self/fd/{descriptor}/{name}"
    try:
        if os.path.lexists(path):
            os.unlink(path)  # noqa: PTH108 - a path through a descriptor
        end.bind(path)
        os.chmod(path, 0o600)  # noqa: PTH101
        end.listen(64)
    except OSError:
        end.close()
        raise
    finally:
        os.close(descriptor)
    return end


def new_socket(kind: str) -> socket.socket:
    """A socket of the network in which this is called; it stays in it wherever it is handed."""
    return socket.socket(socket.AF_INET, {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[kind])
