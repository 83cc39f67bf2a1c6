"""A UDP port: each client has a backend as long as it says something."""

from __future__ import annotations

import asyncio
from typing import Final, cast

from rayward.local.traffic.place import connect
from rayward.local.traffic.route import Member, Route

_IDLE_SECONDS: Final = 60.0
_MOST_FLOWS: Final = 4096
_MOST_WAITING: Final = 64
_CONNECT_SECONDS: Final = 2.0

Peer = tuple[str, int]


class _Flow(asyncio.DatagramProtocol):
    """One client and its backend."""

    def __init__(self, port: UdpPort, peer: Peer, now: float) -> None:
        self._port = port
        self._peer = peer
        self._far: asyncio.DatagramTransport | None = None
        self._waiting: list[bytes] = []
        self.member: Member | None = None
        self.seen = now

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        far = self._far = cast("asyncio.DatagramTransport", transport)
        for data in self._waiting:
            far.sendto(data)
        self._waiting.clear()

    def datagram_received(self, data: bytes, addr: Peer) -> None:
        self.seen = asyncio.get_running_loop().time()
        self._port.answer(data, self._peer)

    def error_received(self, exc: Exception) -> None:
        # Its port is closed: the next datagram looks for another backend.
        self._port.end(self._peer)

    def send(self, data: bytes) -> None:
        if self._far is not None:
            self._far.sendto(data)
        elif len(self._waiting) < _MOST_WAITING:
            self._waiting.append(data)

    def close(self) -> None:
        if self._far is not None:
            self._far.close()
        if self.member is not None:
            self.member.end()
            self.member = None


class UdpPort(asyncio.DatagramProtocol):
    """The side of the clients."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._near: asyncio.DatagramTransport | None = None
        self._flows: dict[Peer, _Flow] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The port is open."""
        self._near = cast("asyncio.DatagramTransport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The port is closed."""
        for task in self._tasks:
            task.cancel()
        for peer in list(self._flows):
            self.end(peer)

    def datagram_received(self, data: bytes, addr: Peer) -> None:
        """A client says something."""
        now = asyncio.get_running_loop().time()
        flow = self._flows.get(addr)
        if flow is not None and flow.member is not None and not flow.member.current:
            self.end(addr)
            flow = None
        if flow is None:
            if len(self._flows) >= _MOST_FLOWS:
                self._sweep(now)
            if len(self._flows) >= _MOST_FLOWS:
                return
            flow = self._flows[addr] = _Flow(self, addr, now)
            task = asyncio.create_task(self._open(flow, addr))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        flow.seen = now
        flow.send(data)

    def answer(self, data: bytes, peer: Peer) -> None:
        """A backend says something."""
        if self._near is not None and not self._near.is_closing():
            self._near.sendto(data, peer)

    def end(self, peer: Peer) -> None:
        flow = self._flows.pop(peer, None)
        if flow is not None:
            flow.close()

    async def _open(self, flow: _Flow, peer: Peer) -> None:
        member = self._route.pick((), peer[0])
        if member is None:
            self._route.refused += 1
            self.end(peer)
            return
        member.begin()
        flow.member = member
        target = member.target
        try:
            made = await connect(target.place, "udp", target.address, target.port, _CONNECT_SECONDS)
            await asyncio.get_running_loop().create_datagram_endpoint(lambda: flow, sock=made)
        except OSError:
            member.failed += 1
            self.end(peer)
            return
        if self._flows.get(peer) is not flow:
            flow.close()
        asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._look, peer, flow)

    def _look(self, peer: Peer, flow: _Flow) -> None:
        if self._flows.get(peer) is not flow:
            return
        left = flow.seen + _IDLE_SECONDS - asyncio.get_running_loop().time()
        if left <= 0:
            self.end(peer)
        else:
            asyncio.get_running_loop().call_later(left, self._look, peer, flow)

    def _sweep(self, now: float) -> None:
        for peer, flow in list(self._flows.items()):
            if now - flow.seen > _IDLE_SECONDS / 4:
                self.end(peer)
