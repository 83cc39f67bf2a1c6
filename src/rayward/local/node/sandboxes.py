"""The node's side of the sandbox host: starting or finding it, and talking to pods inside."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from rayward.local.fdpass import channel, line
from rayward.local.fdpass.channel import Message
from rayward.local.fdpass.line import SOCKET, Event, LineError

_START_SECONDS: Final = 30
_END_SECONDS: Final = 10
_CREDENTIALS: Final = struct.Struct("=iII")
_PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[1:]; "
    "from rayward.local.node.sandbox.__main__ import main; main()"
)

SandboxError = LineError
"""The sandbox host or a pod refused or is gone; the text says why."""


class Command(msgspec.Struct, frozen=True):
    """A command that runs in a container."""

    left: asyncio.Future[int]
    """Its exit code, later."""
    terminal: int | None
    """The other end of its terminal, where it has one."""
    number: int


class Line(line.Line):
    """A conversation in which commands also run in containers."""

    def __init__(self, end: socket.socket, heard: Event | None = None, lost: Callable[[], None] | None = None) -> None:
        super().__init__(end, heard, lost)
        self._leaving: dict[int, asyncio.Future[int]] = {}

    async def enter(
        self, container: str, command: Sequence[str], streams: Sequence[int], *, tty: bool = False
    ) -> Command:
        """Run a command in a container.

        Raises:
            SandboxError: It did not start.
        """
        number = self._number + 1
        left = self._leaving[number] = self._loop.create_future()
        try:
            message, handed = await self.ask("enter", streams, name=container, command=list(command), tty=tty)
            if "failed" in message:
                raise SandboxError(message["failed"])
        except SandboxError:
            self._leaving.pop(number, None)
            raise
        return Command(left, handed[0] if handed else None, number)

    async def leave(self, command: Command) -> None:
        """End a command that runs too long, and what it started."""
        with contextlib.suppress(SandboxError):
            await self.ask("leave", command=command.number)

    def _unanswered(self) -> list[asyncio.Future[Any]]:
        return [*super()._unanswered(), *self._leaving.values()]

    def _take(self, message: Message, descriptors: list[int]) -> None:
        if message.get("event") == "left":
            left = self._leaving.pop(message["id"], None)
            if left is not None and not left.done():
                left.set_result(message["code"])
            return
        super()._take(message, descriptors)


class Sandboxes:
    """The sandbox host of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host: Line | None = None
        self._opening = asyncio.Lock()
        self.renewals: list[Callable[[], Awaitable[None]]] = []
        """Called when a new sandbox host took the place of one that ended while we ran."""

    async def open(self) -> bool:
        """Find the sandbox host, or start one; returns whether it was there already.

        Raises:
            SandboxError: This machine does not let us have one; the text is the kernel's.
        """
        if await self.find():
            return True
        await asyncio.to_thread(self._start)
        self._talk(channel.connect(str(self._folder), SOCKET))
        return False

    async def find(self) -> bool:
        """Find the sandbox host that an earlier process left; returns whether there is one."""
        try:
            self._talk(channel.connect(str(self._folder), SOCKET))
            await self.pods()
        except (OSError, SandboxError):
            return False
        return True

    async def ensure(self) -> None:
        """Have a sandbox host, a new one if the last is gone.

        Raises:
            SandboxError: As ``open``.
        """
        async with self._opening:
            if self._host is None or not self._host.open:
                await self.open()
                for renew in self.renewals:
                    await renew()

    def _talk(self, end: socket.socket) -> None:
        self._host = Line(end)

    def _start(self) -> None:
        source = str(Path(__file__).parents[3])
        with (
            channel.listen(str(self._folder), SOCKET) as listener,
            (self._folder / "ground.log").open("ab") as log,
            os.fdopen((ends := os.pipe())[0], "rb") as told,
        ):
            command = [sys.executable, "-I", "-S", "-c", _PROGRAM, source, str(listener.fileno()), str(ends[1])]
            try:
                subprocess.run(  # noqa: S603
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(listener.fileno(), ends[1]),
                    cwd="/",
                    env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
                    timeout=_START_SECONDS,
                    check=False,
                )
            finally:
                os.close(ends[1])
            answer = told.read().decode(errors="replace")
        if answer != "ready":
            raise SandboxError(answer or "the sandbox host ended before it was ready")

    @property
    def host(self) -> Line:
        """The line to the sandbox host."""
        if self._host is None:
            raise SandboxError("no sandbox host yet")
        return self._host

    async def pods(self) -> list[str]:
        """The pods that live."""
        message, _ = await self.host.ask("hello")
        return message["pods"]

    async def make(self, pod: str, settings: Path) -> None:
        """Make a pod's namespaces."""
        await self.host.ask("pod", pod=pod, settings=str(settings))

    async def connect(self, pod: str, heard: Event, lost: Callable[[], None]) -> Line:
        """Talk to a pod's init."""
        _, (descriptor,) = await self.host.ask("connect", pod=pod)
        return Line(socket.socket(fileno=descriptor), heard, lost)

    async def kill(self, pod: str) -> None:
        """End a pod and all in it; returns when nothing of it is left."""
        await self.host.ask("kill", pod=pod)

    async def end(self) -> None:
        """End the sandbox host and all in it; returns when nothing of it is left."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(_end, str(self._folder))

    def close(self) -> None:
        """Leave the sandbox host as it is."""
        if self._host is not None:
            self._host.close()


def _end(folder: str) -> None:
    with channel.connect(folder, SOCKET) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        channel.send(line, {"do": "hello"})
        _, notes, _, _ = line.recvmsg(channel.LARGEST, socket.CMSG_SPACE(_CREDENTIALS.size))
        # The kernel says who answered in our own numbers; the sandbox host knows only those of its namespace.
        pid, _, _ = _CREDENTIALS.unpack_from(notes[0][2])
        process = os.pidfd_open(pid)
        try:
            channel.send(line, {"do": "end"})
            # Readable once its whole pid namespace is dead.
            ended = select.poll()
            ended.register(process, select.POLLIN)
            ended.poll(_END_SECONDS * 1000)
        finally:
            os.close(process)
