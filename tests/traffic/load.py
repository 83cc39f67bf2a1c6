"""Clients that never stop asking, and notice everything that goes wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import cast

_QUICK = b"GET /quick HTTP/1.1\r\nHost: web\r\nAccept: */*\r\n\r\n"
_SLOW = b"GET /slow HTTP/1.1\r\nHost: web\r\nAccept: */*\r\n\r\n"
_POST = b"POST /quick HTTP/1.1\r\nHost: web\r\nContent-Length: 5\r\n\r\nhello"
_QUICK_BODY = b"Content-Length: 8\r\n\r\nquick-"
_SLOW_END = b"0\r\n\r\n"

SERVER = """
import asyncio, os, signal, uvloop
LETTER = os.environ["LETTER"].encode()
ALL = set()
class Server(asyncio.Protocol):
    ending = False
    def connection_made(self, transport):
        self.transport, self.data, self.busy = transport, b"", False
        self.asked = asyncio.get_running_loop().time()
        ALL.add(self)
    def connection_lost(self, error):
        ALL.discard(self)
    def data_received(self, data):
        self.asked = asyncio.get_running_loop().time()
        self.data += data
        while b"\\r\\n\\r\\n" in self.data:
            head, _, self.data = self.data.partition(b"\\r\\n\\r\\n")
            if head.startswith(b"POST"):
                self.data = self.data[5:]
            if head.split()[1] == b"/slow":
                self.busy = True
                asyncio.create_task(self.stream())
            else:
                self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\n\\r\\nquick-" + LETTER + b"\\n")
    async def stream(self):
        self.transport.write(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
        for _ in range(10):
            self.transport.write(b"7\\r\\nslow-" + LETTER + b"\\n\\r\\n")
            await asyncio.sleep(0.05)
        self.transport.write(b"0\\r\\n\\r\\n")
        self.busy = False
        if self.ending:
            self.transport.close()
async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "0.0.0.0", 8000)
    asked = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, asked.set)
    await asked.wait()
    server.close()
    Server.ending = True
    # Who has not heard of the end yet still asks on a connection that is open; what it sent must not be thrown away.
    while ALL:
        for one in list(ALL):
            if not one.busy and loop.time() - one.asked > 1:
                one.transport.close()
        await asyncio.sleep(0.05)
uvloop.run(main())
"""
"""What runs in a pod: asked to end, it accepts nothing more, finishes what it has and closes what has become quiet."""


class Tally:
    """What came of all requests."""

    def __init__(self) -> None:
        self.quick: Counter[str] = Counter()
        self.slow = 0
        self.failures: list[str] = []
        self.stopping = False

    @property
    def total(self) -> int:
        return self.quick.total() + self.slow + len(self.failures)


class _Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, tally: Tally, *, again: bool) -> None:
        self._tally = tally
        self._again = again
        self._near: asyncio.Transport | None = None
        self._data = b""
        self._is_slow = False
        self._count = 0
        self.busy = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def alive(self) -> bool:
        return self._near is not None and not self._near.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._near = cast("asyncio.Transport", transport)

    def ask(self, *, slow: bool = False) -> None:
        assert self._near is not None
        self._count += 1
        self._is_slow = slow
        self._data = b""
        self.busy = True
        self._near.write(_SLOW if slow else _POST if self._count % 3 == 0 else _QUICK)

    def data_received(self, data: bytes) -> None:
        self._data = data = self._data + data
        if not data.startswith(b"HTTP/1.1 200 OK\r\n"[: len(data)]):
            self._fail(data[:200].decode("latin-1"))
        elif self._is_slow:
            if data.endswith(_SLOW_END):
                self._judge_slow(data)
        elif data.endswith(b"\n") and _QUICK_BODY in data:
            self._tally.quick[data[-2:-1].decode()] += 1
            self._next()

    def _judge_slow(self, data: bytes) -> None:
        letters = {part[:1] for part in data.split(b"slow-")[1:]}
        if data.count(b"slow-") == 10 and len(letters) == 1:
            self._tally.slow += 1
            self._next()
        else:
            self._fail(f"a slow answer is not whole: {data!r}")

    def _next(self) -> None:
        self.busy = False
        if self._again and not self._tally.stopping:
            self.ask(slow=self._count % 250 == 100)
        elif self._again:
            self.close()

    def _fail(self, why: str) -> None:
        self.busy = False
        self._tally.failures.append(why)
        self.close()

    def close(self) -> None:
        if self._near is not None:
            self._near.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.busy:
            self._tally.failures.append(f"the connection ended within an answer: {exc!r}, after {self._data!r}")
        if not self.over.done():
            self.over.set_result(None)


async def _closed(host: str, port: int, tally: Tally) -> None:
    while not tally.stopping:
        _, client = await asyncio.get_running_loop().create_connection(lambda: _Client(tally, again=True), host, port)
        client.ask()
        await client.over


async def _open(host: str, port: int, tally: Tally, rate: float) -> None:
    """Requests at their times, whether or not the last ones are answered."""
    loop = asyncio.get_running_loop()
    idle: list[_Client] = []
    busy: list[_Client] = []
    count = 0
    when = loop.time()
    while not tally.stopping:
        when += 1 / rate
        await asyncio.sleep(max(0.0, when - loop.time()))
        for client in [client for client in busy if not client.busy]:
            busy.remove(client)
            if client.alive:
                idle.append(client)
        client = idle.pop() if idle else None
        if client is None or not client.alive:
            _, client = await loop.create_connection(lambda: _Client(tally, again=False), host, port)
        count += 1
        client.ask(slow=count % 20 == 0)
        busy.append(client)
    while any(client.busy for client in busy):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    for client in (*busy, *idle):
        client.close()
        await client.over


async def run_load(host: str, port: int, tally: Tally, connections: int, rate: float) -> None:
    """Until the tally says stop: a closed loop of so many connections, and an open one of so many a second."""
    async with asyncio.TaskGroup() as tasks:
        for _ in range(connections):
            tasks.create_task(_closed(host, port, tally))
        tasks.create_task(_open(host, port, tally, rate))
