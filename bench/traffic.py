"""What the traffic adds to a request and how much it carries, beside no proxy and beside haproxy.

    python -m bench.traffic

All three stand before the same backend in the same run, in turns; the ratios are what counts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import uvloop

from rayward.local.traffic.http.session import Session
from rayward.local.traffic.place import Host
from rayward.local.traffic.route import Group, Route, Target
from rayward.local.traffic.sessions import Sessions

_REQUEST = (
    b"POST /predict HTTP/1.1\r\nHost: serve\r\nAccept: */*\r\nUser-Agent: bench\r\nContent-Type: application/json\r\n"
    b'Content-Length: 24\r\n\r\n{"question": "how much"}'
)
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nserver: uvicorn\r\ncontent-type: application/json\r\n"
    b'content-length: 23\r\n\r\n{"answer": "this much"}'
)
_ROUNDS = 5
_ALONE = 2000
_TOGETHER = 20000
_CONNECTIONS = 50
_TICKS = os.sysconf("SC_CLK_TCK")


class _Backend(asyncio.Protocol):
    """Answers every request at once."""

    def __init__(self) -> None:
        self._near: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._near = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._near is not None and data.endswith(b"}"):
            self._near.write(_ANSWER)


class _Client(asyncio.Protocol):
    """Asks again as soon as it was answered."""

    def __init__(self, count: int, done: asyncio.Future[None], times: list[float]) -> None:
        self._left = count
        self._done = done
        self._times = times
        self._near: asyncio.Transport | None = None
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._near = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        assert self._near is not None
        self._began = time.perf_counter()
        self._near.write(_REQUEST)

    def data_received(self, data: bytes) -> None:
        assert self._near is not None
        if not data.endswith(_ANSWER[-23:]):
            return
        self._times.append(time.perf_counter() - self._began)
        self._left -= 1
        if self._left:
            self._ask()
        else:
            self._near.close()
            self._done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(ConnectionError("the connection ended early"))


async def _load(port: int, connections: int, requests: int) -> tuple[float, list[float]]:
    loop = asyncio.get_running_loop()
    times: list[float] = []
    done = [loop.create_future() for _ in range(connections)]
    began = time.perf_counter()
    for one in done:
        await loop.create_connection(lambda one=one: _Client(requests // connections, one, times), "127.0.0.1", port)
    await asyncio.gather(*done)
    return time.perf_counter() - began, times


async def _serve(role: str, backend: int) -> None:
    loop = asyncio.get_running_loop()
    if role == "backend":
        server = await loop.create_server(_Backend, "127.0.0.1", 0)
    else:
        route = Route("bench/serve", "8000", lambda: None, loop.time)
        route.update([Group(1, (Target("pod", "127.0.0.1", backend, Host()),))])
        sessions = Sessions(1000)
        server = await loop.create_server(lambda: Session(route, sessions), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def _process(role: str, backend: int = 0) -> Generator[tuple[int, int]]:
    command = [sys.executable, "-m", "bench.traffic", role, str(backend)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.terminate()


@contextmanager
def _haproxy(program: str, backend: int) -> Generator[tuple[int, int]]:
    with _free_port() as port, tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "haproxy.cfg")
        config.write_text(
            "global\n  nbthread 1\n  maxconn 2000\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n"
            "  timeout server 60s\n  option http-keep-alive\n  http-reuse always\n"
            f"frontend f\n  bind 127.0.0.1:{port}\n  default_backend b\n"
            f"backend b\n  server s 127.0.0.1:{backend}\n"
        )
        with subprocess.Popen([program, "-db", "-q", "-f", str(config)]) as process:
            try:
                while asyncio.run(_refused(port)):
                    time.sleep(0.02)
                yield port, process.pid
            finally:
                process.terminate()


@contextmanager
def _free_port() -> Generator[int]:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield port


async def _refused(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return True
    writer.close()
    return False


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> None:
    """Measure and print."""
    print("traffic: one request at a time, then 50 connections; medians of rounds in turns")
    with ExitStack() as stack:
        backend, _ = stack.enter_context(_process("backend"))
        sides = {"direct": (backend, 0), "rayward": stack.enter_context(_process("proxy", backend))}
        program = shutil.which("haproxy") or "/usr/sbin/haproxy"
        if Path(program).exists():
            sides["haproxy"] = stack.enter_context(_haproxy(program, backend))
        else:
            print("  no haproxy beside it: it is not installed (apt-get install haproxy)")
        alone: dict[str, list[float]] = {name: [] for name in sides}
        rates: dict[str, list[float]] = {name: [] for name in sides}
        costs: dict[str, list[float]] = {name: [] for name in sides}
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for _ in range(_ROUNDS):
                for name, (port, pid) in sides.items():
                    _, times = runner.run(_load(port, 1, _ALONE))
                    alone[name].append(statistics.median(times) * 1e3)
                    spent = _cpu(pid) if pid else 0.0
                    seconds, _ = runner.run(_load(port, _CONNECTIONS, _TOGETHER))
                    rates[name].append(_TOGETHER / seconds)
                    costs[name].append((_cpu(pid) - spent if pid else 0.0) / _TOGETHER * 1e6)
    middle = statistics.median
    for name in sides:
        added = middle(alone[name]) - middle(alone["direct"])
        core = f", {1e6 / middle(costs[name]):8,.0f} requests per second of its CPU" if middle(costs[name]) else ""
        print(
            f"  {name:8} p50 {middle(alone[name]):6.3f} ms (adds {added:6.3f} ms), {middle(rates[name]):8,.0f} a second"
            f" ({middle(rates[name]) / middle(rates['direct']):.2f} of direct){core}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvloop.run(_serve(sys.argv[1], int(sys.argv[2])))
    else:
        main()
