"""Requests at a steady rate, whether or not the last ones were answered; nothing is retried, nothing is forgiven."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass
class Tally:
    """What came of the requests; ``lost`` says why, for each that got no good answer in time."""

    sent: int = 0
    answered: Counter[str] = field(default_factory=Counter[str])
    """By the release that answered."""
    lost: list[str] = field(default_factory=list[str])
    last_answer: dict[str, float] = field(default_factory=dict[str, float])
    """When each release answered last, in monotonic seconds."""
    latencies: list[float] = field(default_factory=list[float])

    @property
    def open(self) -> int:
        """Sent, and neither answered nor lost yet."""
        return self.sent - self.answered.total() - len(self.lost)

    def quantile(self, part: float) -> float:
        """A latency in seconds, such as the median at 0.5."""
        ordered = sorted(self.latencies)
        return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


class Load:
    """Asks a service in a thread of its own, for the length of a ``with`` block.

    Every request carries an id that the answer has to repeat. Half of them go over connections that are kept, half
    over new ones.

    Args:
        host: Where the service answers.
        port: Its port.
        rate: Requests a second.
        patience: Seconds until a request without an answer is lost.
        path: The route of the application that is asked.
    """

    def __init__(self, host: str, port: int, *, rate: float = 100.0, patience: float = 30.0, path: str = "/") -> None:
        self.tally = Tally()
        self._path = path
        self._place = (host, port)
        self._rate = rate
        self._patience = patience
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="load", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> Tally:
        """Send nothing more, and wait for the last answers."""
        self._stopping.set()
        self._thread.join()
        return self.tally

    async def _run(self) -> None:
        asking: set[asyncio.Task[None]] = set()
        began = time.monotonic()
        while not self._stopping.is_set():
            number = self.tally.sent
            self.tally.sent += 1
            task = asyncio.create_task(self._one(number))
            asking.add(task)
            task.add_done_callback(asking.discard)
            await asyncio.sleep(max(0.0, began + self.tally.sent / self._rate - time.monotonic()))
        await asyncio.gather(*asking)
        for _, writer in self._idle:
            writer.close()

    async def _one(self, number: int) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._patience):
                answer = await self._ask(number, keep=number % 2 == 0)
        except TimeoutError:
            self.tally.lost.append(f"request {number}: no answer in {self._patience:.0f} s")
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            self.tally.lost.append(f"request {number}: {type(error).__name__}: {error}")
        else:
            if answer.get("hello") != str(number):
                self.tally.lost.append(f"request {number}: the answer is another's: {answer}")
                return
            release = str(answer.get("release"))
            self.tally.answered[release] += 1
            self.tally.last_answer[release] = time.monotonic()
            self.tally.latencies.append(time.monotonic() - began)

    def _kept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection that still stands: ending one that was idle for long is no loss of a request."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return None

    async def _ask(self, number: int, *, keep: bool) -> dict[str, Any]:
        reader, writer = (self._kept() if keep else None) or await asyncio.open_connection(*self._place)
        try:
            kept = "keep-alive" if keep else "close"
            writer.write(
                f"GET {self._path}?name={number} HTTP/1.1\r\nHost: demo\r\nConnection: {kept}\r\n\r\n".encode()
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            body = await _body(reader, head)
            if not head.startswith("http/1.1 200"):
                raise ValueError(f"{head.splitlines()[0]}: {body[:200]!r}")
            answer: dict[str, Any] = json.loads(body)
        except BaseException:
            writer.close()
            raise
        if keep and "connection: close" not in head:
            self._idle.append((reader, writer))
        else:
            writer.close()
        return answer


async def _body(reader: asyncio.StreamReader, head: str) -> bytes:
    if "transfer-encoding: chunked" not in head:
        return await reader.readexactly(int(head.partition("content-length:")[2].partition("\r\n")[0] or 0))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body
