"""Two connections as one: bytes go through as they are, and each direction ends on its own."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final, Protocol

from rayward.local.traffic.kernel import lost

_ABORTING: Final = struct.pack("ii", 1, 0)


class _End(asyncio.Protocol):
    """One of the two."""

    __slots__ = ("_done", "_other", "_over", "transport")

    def __init__(self, transport: asyncio.Transport, over: Callable[[], None]) -> None:
        self.transport = transport
        self._over = over
        self._other: _End = self
        self._done = False

    def join(self, other: _End) -> None:
        self._other = other

    def data_received(self, data: bytes) -> None:
        self._other.transport.write(data)

    def pause_writing(self) -> None:
        if not self._other.transport.is_closing():
            self._other.transport.pause_reading()

    def resume_writing(self) -> None:
        if not self._other.transport.is_closing():
            self._other.transport.resume_reading()

    def eof_received(self) -> bool:
        self._done = True
        other = self._other
        if other._done:
            other.transport.close()
            return False
        if not other.transport.is_closing():
            other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self._other.transport.close()
        else:
            reset(self._other.transport)
        self._over()


class Said(Protocol):
    """What one side said before the two were one."""

    said: bytes
    ended: bool


def join(near: tuple[asyncio.Transport, Said], far: tuple[asyncio.Transport, Said], over: Callable[[], None]) -> None:
    """Make two connections one; ``over`` is called once, when both have ended."""
    left = 2

    def one_over() -> None:
        nonlocal left
        left -= 1
        if not left:
            over()

    one, other = _End(near[0], one_over), _End(far[0], one_over)
    one.join(other)
    other.join(one)
    for end, (transport, said) in ((one, near), (other, far)):
        transport.set_protocol(end)
        if said.said:
            end.data_received(said.said)
            said.said = b""
        if said.ended and not end.eof_received():
            transport.close()
        elif not transport.is_closing():
            transport.resume_reading()


def end_if_lost(near: asyncio.Transport | None, far: asyncio.Transport | None) -> None:
    """End both if one of them is gone without a word."""
    if near is not None and far is not None and (lost(near) or lost(far)):
        reset(near)
        reset(far)


def reset(transport: asyncio.Transport) -> None:
    """End a connection so that the other side sees a failure, not an end."""
    made: socket.socket | None = transport.get_extra_info("socket")
    if made is not None and not transport.is_closing():
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORTING)
    transport.abort()
