"""What the kernel knows of a connection: whether the other side is there at all."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

import msgspec

# Of ``struct tcp_info`` in linux/tcp.h.
_INFO: Final = struct.Struct("=2xBB52xI")
_SILENT_MS: Final = 5000
_MOST_TRIES: Final = 4


class Signs(msgspec.Struct, frozen=True):
    """Of life, from the other side."""

    tries: int
    """How often the other kernel was sent the same again, or asked for a sign of life, since its last one."""
    silent_ms: int
    """Since when it said nothing."""


def read(info: bytes) -> Signs | None:
    """What a TCP_INFO tells; None if it is too short to. Pure."""
    if len(info) < _INFO.size:
        return None
    repeated, probed, silent_ms = _INFO.unpack_from(info)
    return Signs(max(repeated, probed), silent_ms)


def is_lost(signs: Signs) -> bool:
    """Whether nobody is there any more to receive what was sent. Pure.

    The kernel itself gives up only after a quarter of an hour, and probes no connection on which something is under
    way. One whose process does not read is there: its kernel answers.
    """
    return signs.tries >= _MOST_TRIES and signs.silent_ms > _SILENT_MS


def _signs_of(transport: asyncio.BaseTransport) -> Signs | None:
    made: socket.socket | None = transport.get_extra_info("socket")
    try:
        return read(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)) if made is not None else None
    except OSError:
        return None


def lost(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the other side of an open connection no longer acknowledges what it is sent."""
    if transport is None or transport.is_closing():
        return False
    signs = _signs_of(transport)
    return signs is not None and is_lost(signs)
