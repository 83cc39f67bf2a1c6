"""A conversation with the sandbox host or with one pod's init."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self

from rayward.local.fdpass import channel
from rayward.local.fdpass.channel import Message

SOCKET: Final = "ground.sock"
"""The socket file of the sandbox host, in the folder of the node's data: its name is that of earlier releases, whose
pods are found."""

Event = Callable[[Message], None]


class LineError(Exception):
    """The other side refused or is gone; the text says why."""


class Line:
    """Questions with answers, and events between."""

    def __init__(self, end: socket.socket, heard: Event | None = None, lost: Callable[[], None] | None = None) -> None:
        end.setblocking(False)
        self._end = end
        self._heard = heard
        self._lost = lost
        self._number = 0
        self._waiting: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(end.fileno(), self._read)
        self.open = True

    @classmethod
    def to_host(cls, folder: Path, lost: Callable[[], None] | None = None) -> Self:
        """To the sandbox host of a data folder.

        Raises:
            OSError: There is none.
        """
        return cls(channel.connect(str(folder), SOCKET), lost=lost)

    async def ask(self, do: str, descriptors: Sequence[int] = (), **fields: Any) -> tuple[Message, list[int]]:
        """Ask, and wait for the answer; descriptors in it are the caller's to close.

        Raises:
            LineError: It was refused, or the other side is gone.
        """
        if not self.open:
            raise LineError("the sandbox is gone")
        self._number += 1
        number = self._number
        answer = self._waiting[number] = self._loop.create_future()
        try:
            channel.send(self._end, {"do": do, "id": number, **fields}, descriptors)
            message, handed = await answer
        except OSError as error:
            raise LineError(f"the sandbox is gone: {error}") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in message:
            raise LineError(str(message["error"]))
        return message, handed

    async def new_socket(self, kind: Literal["tcp", "udp"] = "tcp") -> socket.socket:
        """A socket that lives in the network of the other side: bind it, listen on it or connect it here."""
        _, (descriptor,) = await self.ask("socket", kind=kind)
        made = socket.socket(fileno=descriptor)
        made.setblocking(False)
        return made

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.remove_reader(self._end.fileno())
            self._end.close()
            for waiting in self._unanswered():
                if not waiting.done():
                    waiting.set_exception(LineError("the sandbox is gone"))
                    # Nobody may be waiting any more.
                    waiting.exception()

    def _unanswered(self) -> list[asyncio.Future[Any]]:
        return list(self._waiting.values())

    def _read(self) -> None:
        while self.open:
            try:
                received = channel.receive(self._end)
            except BlockingIOError:
                return
            except OSError:
                received = None
            if received is None:
                self.close()
                if self._lost is not None:
                    self._lost()
                return
            self._take(*received)

    def _take(self, message: Message, descriptors: list[int]) -> None:
        if "event" in message:
            if self._heard is not None:
                self._heard(message)
        else:
            waiting = self._waiting.get(message["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result((message, descriptors))
                return
        for descriptor in descriptors:
            os.close(descriptor)
