"""The client's side of a connection: what may still be read from it and written to it, and how it ends."""

from __future__ import annotations

import asyncio
from typing import cast

from rayward.local.traffic.kernel import lost
from rayward.local.traffic.splice import reset
from rayward.local.traffic.tcp import peer_of


class Downstream:
    """A client's transport; every method is harmless once the client is gone."""

    __slots__ = ("_halted", "_unsent", "address", "full", "left", "transport")

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.address = peer_of(transport)
        self.left = False
        """Whether the client sends no more; it may still listen."""
        self.full = False
        """Whether the client reads too slowly."""
        self._halted = False
        self._unsent = 0

    def write(self, data: bytes) -> None:
        """Send bytes, unless the connection is being closed."""
        if not self.transport.is_closing():
            self.transport.write(data)

    def stop_reading(self) -> None:
        """Let the client wait with the rest of what it sends."""
        if not self.transport.is_closing():
            self._halted = True
            self.transport.pause_reading()

    def read_on(self) -> None:
        """Take back ``stop_reading``."""
        if self._halted and not self.transport.is_closing():
            self._halted = False
            self.transport.resume_reading()

    def say_no_more(self) -> None:
        """End our direction and go on reading: closing would reset a client that still sends, before it has read."""
        if not self.transport.is_closing():
            self.transport.write_eof()
            self.read_on()
            if self.left:
                self.transport.close()

    def takes_more(self) -> tuple[bool, int]:
        """Whether the client read anything since the last call, and how many bytes it has still to read."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        return self._unsent != before, self._unsent

    def is_lost(self) -> bool:
        """Whether the client is gone without a word."""
        return lost(self.transport)

    def reset(self) -> None:
        """End the connection so that the client sees a failure, not an end."""
        reset(self.transport)
