"""Two traffic processes of one folder: the first serves, the second is ready to and holds the same listening sockets.

Two locks of the kernel, which lets go of them when a process dies, say who is who: whoever has ``traffic.lock``
serves; whoever has ``traffic-standby.lock`` is next. A third process waits for the second lock, so that one started in
place of a killed one can never serve before the standby that holds the sockets.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from rayward.local.fdpass import channel
from rayward.local.traffic.listeners import SOCKET, Listening, close_all

_POLL_SECONDS: Final = 0.005


class Standby:
    """This process, until it serves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[Listening, socket.socket] = {}

    async def turn(self, warm: Callable[[], None]) -> dict[Listening, socket.socket]:
        """Wait until nobody serves; returns the listening sockets of the process that did.

        The lock is this process's until it ends. ``warm`` is called once all sockets are held.
        """
        waiting = await self._lock("traffic-standby.lock")
        try:
            while _try_lock(self._folder / "traffic.lock") is None:
                await self._follow(warm)
                await asyncio.sleep(_POLL_SECONDS)
        except BaseException:
            close_all(self._held)
            raise
        finally:
            os.close(waiting)
        return self._held

    async def _lock(self, name: str) -> int:
        while (descriptor := _try_lock(self._folder / name)) is None:  # noqa: ASYNC110 - the kernel does not tell
            await asyncio.sleep(_POLL_SECONDS)
        return descriptor

    async def _follow(self, warm: Callable[[], None]) -> None:
        """Hold what the serving process holds, until it is gone."""
        try:
            end = channel.connect(str(self._folder), SOCKET)
        except OSError:
            return
        end.setblocking(False)
        with end:
            # Until it speaks: what accepted us may be a process on its way out, whose sockets are held already.
            known = self._held
            while (received := await _receive(end)) is not None:
                if known is self._held:
                    close_all(known)
                    self._held = {}
                message, descriptors = received
                self._take(message, descriptors)
                if "all" in message:
                    warm()
                try:
                    channel.send(end, {})
                except OSError:
                    # It was killed a moment ago; what it said before is still read.
                    continue

    def _take(self, message: channel.Message, descriptors: list[int]) -> None:
        if "hold" in message:
            where = msgspec.convert(message["hold"], Listening)
            self._drop(where)
            self._held[where] = made = socket.socket(fileno=descriptors[0])
            made.setblocking(False)
        elif "release" in message:
            self._drop(msgspec.convert(message["release"], Listening))

    def _drop(self, where: Listening) -> None:
        dropped = self._held.pop(where, None)
        if dropped is not None:
            dropped.close()


async def _receive(end: socket.socket) -> tuple[channel.Message, list[int]] | None:
    """The next message; None at the end."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return channel.receive(end)
        except BlockingIOError:
            pass
        except OSError:
            return None
        readable = loop.create_future()
        loop.add_reader(end.fileno(), lambda waits=readable: waits.done() or waits.set_result(None))
        try:
            await readable
        finally:
            loop.remove_reader(end.fileno())


def _try_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
