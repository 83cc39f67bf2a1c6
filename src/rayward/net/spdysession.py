"""SPDY/3.1 over one connection: streams that both sides open, read, write and half-close."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from rayward.net import spdy
from rayward.net.duplex import Duplex
from rayward.net.errors import ConnectionLost

_READ: Final = 64 * 1024
_LARGEST_WRITE: Final = 64 * 1024
_BUFFER: Final = 1 << 20
_MOST_STREAMS: Final = 4096


class Stream:
    """One stream. What the peer sent is kept until read; beyond a limit the whole connection waits for the reader."""

    def __init__(self, session: Session, number: int, headers: spdy.Headers) -> None:
        self.number = number
        self.headers: Mapping[str, str] = dict(headers)
        """By lower-case name."""
        self._session = session
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._replied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard_all = False
        self._said_all = False
        self._dead = False

    async def read(self) -> bytes:
        """The next bytes; none at the end.

        Raises:
            ConnectionLost: The peer reset the stream, or is gone.
        """
        while not self._parts:
            if self._heard_all:
                return b""
            if self._dead:
                raise ConnectionLost("the stream was reset")
            self._changed.clear()
            await self._changed.wait()
        part = self._parts.popleft()
        self._size -= len(part)
        self._taken.set()
        return part

    async def write(self, data: bytes) -> None:
        """Send, as fast as the connection takes it.

        Raises:
            ConnectionLost: Nobody listens any more.
        """
        for place in range(0, len(data), _LARGEST_WRITE):
            if self._dead or self._said_all:
                raise ConnectionLost("the stream was reset")
            await self._session.send(spdy.Data(self.number, data[place : place + _LARGEST_WRITE]))

    async def finish(self) -> None:
        """Say that no more comes from here; the peer may go on."""
        if not self._said_all and not self._dead:
            self._said_all = True
            await self._session.send(spdy.Data(self.number, b"", fin=True))
            self._session.settle(self)

    async def reset(self, code: int = spdy.CANCEL) -> None:
        """End both directions at once; a stream that is over already stays so."""
        if not self._dead and not (self._said_all and self._heard_all):
            self.die()
            await self._session.send(spdy.Reset(self.number, code))
            self._session.settle(self)

    @property
    def over(self) -> bool:
        """Whether neither side has more to say."""
        return self._dead or (self._said_all and self._heard_all)

    async def until_replied(self) -> None:
        """Wait until the peer has accepted the stream."""
        await self._replied

    def accept(self) -> None:
        """The peer accepted the stream."""
        if not self._replied.done():
            self._replied.set_result(None)

    async def take(self, data: bytes, *, fin: bool) -> None:
        """Bytes from the peer."""
        if data and not self._dead:
            self._parts.append(data)
            self._size += len(data)
        self._heard_all = self._heard_all or fin
        self._changed.set()
        while self._size > _BUFFER and not self._dead:
            self._taken.clear()
            await self._taken.wait()

    def die(self) -> None:
        """Nothing more comes or goes."""
        self._dead = True
        self._changed.set()
        self._taken.set()
        if not self._replied.done():
            self._replied.set_exception(ConnectionLost("the stream was refused"))
            # nobody may be waiting
            self._replied.exception()


class Session:
    """One connection. ``run`` must be running for anything to be heard."""

    def __init__(self, connection: Duplex, *, server: bool) -> None:
        self._connection = connection
        self._decoder = spdy.Decoder()
        self._encoder = spdy.Encoder()
        self._streams: dict[int, Stream] = {}
        self._accepted: asyncio.Queue[Stream | None] = asyncio.Queue()
        self._parity = 1 if server else 0
        self._last_heard = 0
        self._next = 2 if server else 1
        self._open = True
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._running
        self._connection.close()

    async def run(self) -> None:
        """Hear the peer, until it is gone or speaks nonsense."""
        try:
            while self._open and (data := await self._connection.read(_READ)):
                for frame in self._decoder.feed(data):
                    await self._hear(frame)
        except (spdy.SpdyError, ConnectionLost):
            with contextlib.suppress(ConnectionLost):
                await self.send(spdy.GoAway(self._last_heard, spdy.PROTOCOL_ERROR))
        finally:
            self._open = False
            for stream in list(self._streams.values()):
                stream.die()
            self._streams.clear()
            self._accepted.put_nowait(None)

    async def accept(self) -> Stream | None:
        """The next stream that the peer opens; None when the connection is over."""
        stream = await self._accepted.get()
        if stream is None:
            self._accepted.put_nowait(None)
        return stream

    async def open(self, headers: spdy.Headers) -> Stream:
        """Open a stream, and wait until the peer accepts it.

        Raises:
            ConnectionLost: It does not.
        """
        if not self._open:
            raise ConnectionLost("the connection is over")
        stream = self._streams[self._next] = Stream(self, self._next, headers)
        self._next += 2
        await self.send(spdy.Open(stream.number, headers))
        await stream.until_replied()
        return stream

    async def ended(self, seconds: float | None) -> None:
        """Wait until the peer hangs up; ``seconds`` at most."""
        assert self._running is not None
        await asyncio.wait((self._running,), timeout=seconds)

    async def send(self, frame: spdy.Frame) -> None:
        await self._connection.write(self._encoder.encode(frame))

    def settle(self, stream: Stream) -> None:
        """Forget a stream that is over."""
        if stream.over:
            self._streams.pop(stream.number, None)

    async def _hear(self, frame: spdy.Frame) -> None:
        match frame:
            case spdy.Data(number, data, fin):
                stream = self._streams.get(number)
                if stream is not None:
                    await stream.take(data, fin=fin)
                    self.settle(stream)
            case spdy.Open():
                await self._welcome(frame)
            case spdy.Reply(number, _, fin) | spdy.MoreHeaders(number, _, fin):
                stream = self._streams.get(number)
                if stream is not None:
                    stream.accept()
                    await stream.take(b"", fin=fin)
            case spdy.Reset(number):
                stream = self._streams.pop(number, None)
                if stream is not None:
                    stream.die()
            case spdy.Ping(number):
                # those with our own parity are answers to ours, and we ask none
                if number & 1 == self._parity:
                    await self.send(frame)
            case spdy.GoAway():
                self._open = False
            case spdy.Window():
                pass

    async def _welcome(self, frame: spdy.Open) -> None:
        if frame.stream & 1 != self._parity or frame.stream <= self._last_heard:
            raise spdy.SpdyError(f"stream {frame.stream} after {self._last_heard}")
        self._last_heard = frame.stream
        if len(self._streams) >= _MOST_STREAMS:
            await self.send(spdy.Reset(frame.stream, spdy.REFUSED_STREAM))
            return
        stream = self._streams[frame.stream] = Stream(self, frame.stream, frame.headers)
        await self.send(spdy.Reply(frame.stream))
        if frame.fin:
            await stream.take(b"", fin=True)
        self._accepted.put_nowait(stream)
