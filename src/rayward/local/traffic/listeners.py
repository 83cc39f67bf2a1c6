"""The listening sockets of the process that serves; its standby holds every one of them too.

A socket listens as long as any process has it open. Clients that come after the serving process was killed wait in the
kernel's queue until the standby accepts them; none is refused. Connections that were accepted end with their process.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from rayward.local.fdpass import channel
from rayward.local.fdpass.channel import Message
from rayward.local.traffic.place import Kind, Place, listen

SOCKET: Final = "traffic.sock"
"""The socket file at which the serving process hands out what it listens on."""
_ANSWER_SECONDS: Final = 2.0


class Listening(msgspec.Struct, frozen=True, array_like=True):
    """Where a socket listens."""

    network: int
    kind: Kind
    address: str
    port: int


class Listener(msgspec.Struct, frozen=True):
    socket: socket.socket
    release: Callable[[], None]
    """Have the standby close it; whoever serves it here closes it here."""

    def closer(self, close: Callable[[], None]) -> Callable[[], None]:
        """What ends it everywhere, given what ends it here."""

        def end() -> None:
            close()
            self.release()

        return end


class Listeners:
    """What this process listens on."""

    def __init__(self) -> None:
        self._inherited: dict[Listening, socket.socket] = {}
        self._held: dict[Listening, socket.socket] = {}
        self._standbys: set[_Standby] = set()
        self._server: socket.socket | None = None
        self._leaving = False

    def inherit(self, found: Mapping[Listening, socket.socket]) -> None:
        """Take over the sockets of a process that is gone."""
        self._inherited.update(found)

    def drop_inherited(self) -> None:
        """Close the sockets of services that are gone."""
        while self._inherited:
            self._inherited.popitem()[1].close()

    async def open(self, place: Place, kind: Kind, address: str, port: int) -> Listener:
        """A socket at an address, the inherited one where there is one.

        Raises:
            OSError: As ``place.listen``.
        """
        made = self._inherited.pop(Listening(place.network, kind, address, port), None)
        if made is None:
            made = await self._listen(place, kind, address, port)
        where = Listening(place.network, kind, address, made.getsockname()[1])
        # The event loop closes the one that it serves.
        held = self._held[where] = made.dup()
        for standby in self._standbys:
            standby.tell({"hold": msgspec.to_builtins(where)}, held)
        return Listener(made, lambda: self._release(where, held))

    def hand_out(self, folder: Path) -> None:
        """Give every standby that asks what is open now, and what will be."""
        self._server = channel.listen(str(folder), SOCKET)
        self._server.setblocking(False)
        asyncio.get_running_loop().add_reader(self._server.fileno(), self._accept)

    def leave(self) -> None:
        """From now on what is closed here stays open at the standby, which serves it when this process has ended."""
        self._leaving = True

    async def _listen(self, place: Place, kind: Kind, address: str, port: int) -> socket.socket:
        try:
            return await listen(place, kind, address, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not self._standbys:
                raise
        # It was perhaps released a moment ago, and the standby is about to close it.
        await asyncio.gather(*(standby.settle() for standby in self._standbys))
        return await listen(place, kind, address, port)

    def _release(self, where: Listening, held: socket.socket) -> None:
        held.close()
        if self._held.get(where) is held:
            del self._held[where]
            if not self._leaving:
                for standby in self._standbys:
                    standby.tell({"release": msgspec.to_builtins(where)})

    def _accept(self) -> None:
        assert self._server is not None
        try:
            end, _ = self._server.accept()
        except OSError:
            return
        standby = _Standby(end, self._standbys.discard)
        self._standbys.add(standby)
        for where, held in self._held.items():
            standby.tell({"hold": msgspec.to_builtins(where)}, held)
        standby.tell({"all": True})


class _Standby:
    """The line to one standby: each message is answered before the next is sent, so that none has to wait unsent."""

    def __init__(self, end: socket.socket, gone: Callable[[_Standby], None]) -> None:
        end.setblocking(False)
        self._end = end
        self._gone = gone
        self._messages: asyncio.Queue[tuple[Message, socket.socket | None]] = asyncio.Queue()
        self._telling = asyncio.create_task(self._run())

    def tell(self, message: Message, held: socket.socket | None = None) -> None:
        self._messages.put_nowait((message, held))

    async def settle(self) -> None:
        """Wait until it has heard all; one that does not answer is no standby any more."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._messages.join()
        except TimeoutError:
            self._telling.cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            with contextlib.suppress(OSError):
                while True:
                    message, held = await self._messages.get()
                    # One that was released meanwhile is not handed out.
                    if held is None or held.fileno() >= 0:
                        channel.send(self._end, message, () if held is None else (held.fileno(),))
                        if not await loop.sock_recv(self._end, channel.LARGEST):
                            return
                    self._messages.task_done()
        finally:
            self._end.close()
            self._gone(self)
            while not self._messages.empty():
                self._messages.get_nowait()
                self._messages.task_done()


def close_all(sockets: Mapping[Listening, socket.socket]) -> None:
    """Close sockets that nobody will serve."""
    for one in sockets.values():
        with contextlib.suppress(OSError):
            os.close(one.detach())
