"""Bytes both ways: a connection after HTTP has left it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from rayward.net.errors import ConnectionLost

_PART: Final = 64 * 1024
_END_SECONDS: Final = 5.0
_LOST: Final = (OSError, EOFError)


class Duplex:
    """A connection to read from and write to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def read(self, size: int = _PART) -> bytes:
        """The next bytes, at most ``size``; none at the end.

        Raises:
            ConnectionLost: It broke.
        """
        try:
            return await self.reader.read(size)
        except _LOST as error:
            raise ConnectionLost(str(error) or "the connection broke") from error

    async def write(self, data: bytes) -> None:
        """Send, as fast as the peer takes it.

        Raises:
            ConnectionLost: Nobody is there.
        """
        if self.writer.is_closing():
            raise ConnectionLost("the connection is closed")
        try:
            self.writer.write(data)
            await self.writer.drain()
        except _LOST as error:
            raise ConnectionLost(str(error) or "the connection broke") from error

    def finish(self) -> None:
        """Say that no more comes from here, where the connection can tell (TLS cannot: then it stays open)."""
        with contextlib.suppress(*_LOST):
            if self.writer.can_write_eof():
                self.writer.write_eof()

    def close(self) -> None:
        """End both directions; what was written is still sent."""
        self.writer.close()

    async def end(self) -> None:
        """Close, and wait until the connection is gone; a peer that does not let go is left after a moment."""
        self.close()
        with contextlib.suppress(TimeoutError, *_LOST):
            async with asyncio.timeout(_END_SECONDS):
                await self.writer.wait_closed()
        self.abort()

    def abort(self) -> None:
        """End both directions now."""
        self.writer.transport.abort()


async def join(one: Duplex, other: Duplex) -> None:
    """Carry bytes both ways until both sides have ended, or one broke, then close both."""
    tasks = [asyncio.ensure_future(_pour(one, other)), asyncio.ensure_future(_pour(other, one))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        one.close()
        other.close()


async def _pour(source: Duplex, target: Duplex) -> None:
    while data := await source.read():
        await target.write(data)
    if not target.writer.can_write_eof():
        # what cannot be half-closed is closed: the other side would wait for ever
        raise ConnectionLost("one side ended")
    target.finish()
