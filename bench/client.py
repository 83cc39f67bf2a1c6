"""One asynchronous client with a fixed number of requests in flight, and what it measured."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayward.net.client import HttpClient, Route
from rayward.net.tls import ClientTls, client_context

IN_FLIGHT = 16
WATCHERS = 50


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is and how to be let in."""

    name: str
    url: str
    token: str
    authority: str
    pids: tuple[int, ...]
    ready_seconds: float

    def cpu_seconds(self) -> float:
        """What all its processes have used."""
        stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.pids)
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a row."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class Rate:
    """How many a second, how much of the client's own core that took, and the server's CPU seconds for each.

    The last hardly changes when other programs have the machine too: that is what two checkouts are compared by.
    """

    per_second: float
    client_cpu: float
    server_cpu: float


class Bench:
    """A client of one server."""

    def __init__(self, server: Server, http: HttpClient) -> None:
        self._server = server
        self._http = http
        self._route = Route(tls=client_context(ClientTls(authority=server.authority)))

    async def send(self, call: Call) -> bytes:
        """One request; a refusal ends the benchmark."""
        headers = (
            ("Authorization", f"Bearer {self._server.token}"),
            ("Content-Type", call.content_type),
            ("Accept", call.accept),
            ("User-Agent", "bench/1"),
        )
        answer = await self._http.request(
            call.method, self._server.url + call.path, headers=headers, body=call.body, route=self._route
        )
        if answer.status >= 300:
            raise SystemExit(f"{self._server.name}: {call.method} {call.path}: {answer.status} {answer.body[:300]!r}")
        return answer.body

    def _measured(self) -> Callable[[int], Rate]:
        """Begins to measure; what it returns ends that, given how many there were."""
        began, cpu, served = time.perf_counter(), time.process_time(), self._server.cpu_seconds()

        def done(count: int) -> Rate:
            seconds = time.perf_counter() - began
            spent = self._server.cpu_seconds() - served
            return Rate(count / seconds, (time.process_time() - cpu) / seconds, spent / count)

        return done

    async def rate(self, count: int, make: Callable[[int], Sequence[Call]], in_flight: int = IN_FLIGHT) -> Rate:
        """Run ``count`` steps, each one or more requests after another, ``in_flight`` steps at a time."""
        steps = iter(range(count))

        async def worker() -> None:
            for step in steps:
                for call in make(step):
                    await self.send(call)

        done = self._measured()
        await asyncio.gather(*(worker() for _ in range(in_flight)))
        return done(count)

    async def watch_rate(self, path: str, count: int, make: Callable[[int], Call]) -> Rate:
        """Deliveries a second to fifty watchers while ``count`` objects are created."""
        headers = (("Authorization", f"Bearer {self._server.token}"),)
        opened = asyncio.Semaphore(0)

        async def watch() -> None:
            seen = 0
            url = f"{self._server.url}{path}?watch=true&resourceVersion={start}"
            async with self._http.stream("GET", url, headers=headers, route=self._route) as stream:
                opened.release()
                async for part in stream:
                    seen += part.count(b"\n")
                    if seen >= count:
                        return

        listed = await self.send(Call("GET", f"{path}?limit=1"))
        start = listed.split(b'"resourceVersion":"', 1)[1].split(b'"', 1)[0].decode()
        watchers = [asyncio.create_task(watch()) for _ in range(WATCHERS)]
        for _ in watchers:
            await opened.acquire()
        done = self._measured()
        await self.rate(count, lambda step: [make(step)])
        await asyncio.gather(*watchers)
        return done(count * WATCHERS)

    async def watch_list_rate(self, path: str, count: int) -> Rate:
        """Lists a second that come as the first events of a watch, one after another."""
        headers = (("Authorization", f"Bearer {self._server.token}"),)
        asked = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        done = self._measured()
        for _ in range(count):
            url, last = f"{self._server.url}{path}?{asked}", b""
            async with self._http.stream("GET", url, headers=headers, route=self._route) as stream:
                async for part in stream:
                    if b"k8s.io/initial-events-end" in last + part:
                        break
                    last = part[-64:]
        return done(count)
