"""Networks in which sockets live: this machine's own, and that of the pods."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal, Protocol

from rayward.local.fdpass import channel
from rayward.local.fdpass.line import Line, LineError

Kind = Literal["tcp", "udp"]

_SPARE: Final = 16
_NETWORK_COOKIE: Final = 71  # SO_NETNS_COOKIE, since Linux 5.14
_BACKLOG: Final = 1024
# A pod that is lost together with its network says nothing any more: who waits for its answer is told in five seconds.
_BACKEND_PROBES: Final = ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3))
# So does a client, and until then its pod cannot be drained.
_CLIENT_PROBES: Final = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))


class Place(Protocol):
    @property
    def network(self) -> int:
        """What tells it from others."""
        ...

    async def new_socket(self, kind: Kind) -> socket.socket:
        """A socket in it.

        Raises:
            OSError: The network is not there.
        """
        ...


class Host:
    """This machine's own network."""

    def __init__(self) -> None:
        with channel.new_socket("tcp") as made:
            self.network = network_of(made)

    async def new_socket(self, kind: Kind) -> socket.socket:
        """A socket of this process."""
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
        made.setblocking(False)
        return made


class PodNetwork:
    """The network of the pods; the sandbox host hands out its sockets.

    A few are asked for ahead, so that a connection to a pod does not wait for the sandbox host.
    """

    def __init__(self, folder: Path, lost: Callable[[], None]) -> None:
        self._folder = folder
        self._lost = lost
        self._line: Line | None = None
        self._spare: deque[socket.socket] = deque()
        self._filling: asyncio.Task[None] | None = None
        self.generation = 0
        """Which network it is: the next node's is another."""
        self.network = 0

    @property
    def there(self) -> bool:
        """Whether the network can be used."""
        return self._line is not None and self._line.open

    async def find(self) -> bool:
        """Find the network of a node that runs; returns whether there is one."""
        try:
            line = Line.to_host(self._folder, self._gone)
        except OSError:
            return False
        try:
            first = await line.new_socket("tcp")
        except LineError:
            line.close()
            return False
        self._drop_spare()
        self._spare.append(first)
        self.network = network_of(first)
        self.generation += 1
        self._line = line
        return True

    async def new_socket(self, kind: Kind) -> socket.socket:
        """A socket in the network of the pods."""
        if kind == "tcp" and self._spare:
            self._refill()
            return self._spare.popleft()
        if self._line is None:
            raise OSError("the network of the pods is not there")
        try:
            made = await self._line.new_socket(kind)
        except LineError as error:
            raise OSError(str(error)) from error
        if kind == "tcp":
            self._refill()
        return made

    def close(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
        if self._line is not None:
            self._line.close()
        self._drop_spare()

    def _gone(self) -> None:
        self._drop_spare()
        self._lost()

    def _drop_spare(self) -> None:
        while self._spare:
            self._spare.pop().close()

    def _refill(self) -> None:
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        line = self._line
        with contextlib.suppress(LineError):
            while line is not None and line is self._line and len(self._spare) < _SPARE:
                self._spare.append(await line.new_socket("tcp"))


async def listen(place: Place, kind: Kind, address: str, port: int) -> socket.socket:
    """A socket at an address; one for TCP listens, and its connections fail where the client is no longer there.

    Raises:
        OSError: The address is taken, forbidden or not there.
    """
    made = await place.new_socket(kind)
    try:
        if kind == "tcp":
            # One that was killed a moment ago left connections behind at this address.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Those it accepts inherit it.
            _probe(made, _CLIENT_PROBES)
        made.bind((address, port))
        if kind == "tcp":
            made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    return made


async def connect(place: Place, kind: Kind, address: str, port: int, seconds: float) -> socket.socket:
    """A socket that is connected; one for TCP fails where the other side is no longer there, also if it never said so.

    Raises:
        OSError: Nobody is there; TimeoutError if nobody said so.
    """
    made = await place.new_socket(kind)
    try:
        if kind == "tcp":
            _probe(made, _BACKEND_PROBES)
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


def network_of(made: socket.socket) -> int:
    """The kernel's number for the network in which a socket lives, never given twice; 0 where it does not tell."""
    try:
        return int.from_bytes(made.getsockopt(socket.SOL_SOCKET, _NETWORK_COOKIE, 8), sys.byteorder)
    except OSError:
        return 0


def _probe(made: socket.socket, probes: Iterable[tuple[int, int]]) -> None:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in probes:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
