"""The node's side of the ground: starting or finding it, and talking to pods inside."""

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
from typing import Any, Final, Literal

import msgspec

from rayward.local.node.ground import channel
from rayward.local.node.ground.channel import Message

_SOCKET: Final = "ground.sock"
_START_SECONDS: Final = 30
_END_SECONDS: Final = 10
_CREDENTIALS: Final = struct.Struct("=iII")
_PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[1:]; "
    "from rayward.local.node.ground.__main__ import main; main()"
)

Event = Callable[[Message], None]


class SandboxError(Exception):
    """The ground or a pod refused or is gone; the text says why."""


class Command(msgspec.Struct, frozen=True):
    """A command that runs in a container."""

    left: asyncio.Future[int]
    """Its exit code, later."""
    terminal: int | None
    """The other end of its terminal, where it has one."""
    number: int


class Line:
    """A conversation with the ground or with one pod's init: questions with answers, and events between."""

    def __init__(self, end: socket.socket, heard: Event | None = None, lost: Callable[[], None] | None = None) -> None:
        end.setblocking(False)
        self._end = end
        self._heard = heard
        self._lost = lost
        self._number = 0
        self._waiting: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self._leaving: dict[int, asyncio.Future[int]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(end.fileno(), self._read)
        self.open = True

    async def ask(self, do: str, descriptors: Sequence[int] = (), **fields: Any) -> tuple[Message, list[int]]:
        """Ask, and wait for the answer; descriptors in it are the caller's to close.

        Raises:
            SandboxError: It was refused, or the other side is gone.
        """
        if not self.open:
            raise SandboxError("the sandbox is gone")
        self._number += 1
        number = self._number
        answer = self._waiting[number] = self._loop.create_future()
        try:
            channel.send(self._end, {"do": do, "id": number, **fields}, descriptors)
            message, handed = await answer
        except OSError as error:
            raise SandboxError(f"the sandbox is gone: {error}") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in message:
            raise SandboxError(str(message["error"]))
        return message, handed

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

    async def new_socket(self, kind: Literal["tcp", "udp"] = "tcp") -> socket.socket:
        """A socket that lives in the network of the other side: bind it, listen on it or connect it here."""
        _, (descriptor,) = await self.ask("socket", kind=kind)
        made = socket.socket(fileno=descriptor)
        made.setblocking(False)
        return made

    def close(self) -> None:
        """Hang up."""
        if self.open:
            self.open = False
            self._loop.remove_reader(self._end.fileno())
            self._end.close()
            for waiting in (*self._waiting.values(), *self._leaving.values()):
                if not waiting.done():
                    waiting.set_exception(SandboxError("the sandbox is gone"))
                    # Nobody may be waiting any more.
                    waiting.exception()

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
        event = message.get("event")
        if event == "left":
            left = self._leaving.pop(message["id"], None)
            if left is not None and not left.done():
                left.set_result(message["code"])
        elif event is not None:
            if self._heard is not None:
                self._heard(message)
        else:
            waiting = self._waiting.get(message["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result((message, descriptors))
                return
        for descriptor in descriptors:
            os.close(descriptor)


class Sandboxes:
    """The ground of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ground: Line | None = None
        self._opening = asyncio.Lock()
        self.renewals: list[Callable[[], Awaitable[None]]] = []
        """Called when a new ground took the place of one that ended while we ran."""

    async def open(self) -> bool:
        """Find the ground, or start one; returns whether it was there already.

        Raises:
            SandboxError: This machine does not let us have one; the text is the kernel's.
        """
        if await self.find():
            return True
        await asyncio.to_thread(self._start)
        self._talk(channel.connect(str(self._folder), _SOCKET))
        return False

    async def find(self) -> bool:
        """Find the ground that an earlier process left; returns whether there is one."""
        try:
            self._talk(channel.connect(str(self._folder), _SOCKET))
            await self.pods()
        except (OSError, SandboxError):
            return False
        return True

    async def ensure(self) -> None:
        """Have a ground, a new one if the last is gone.

        Raises:
            SandboxError: As ``open``.
        """
        async with self._opening:
            if self._ground is None or not self._ground.open:
                await self.open()
                for renew in self.renewals:
                    await renew()

    def _talk(self, end: socket.socket) -> None:
        self._ground = Line(end)

    def _start(self) -> None:
        source = str(Path(__file__).parents[3])
        with (
            channel.listen(str(self._folder), _SOCKET) as listener,
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
            raise SandboxError(answer or "the ground ended before it was ready")

    @property
    def ground(self) -> Line:
        """The line to the ground."""
        if self._ground is None:
            raise SandboxError("no ground yet")
        return self._ground

    async def pods(self) -> list[str]:
        """The pods that live."""
        message, _ = await self.ground.ask("hello")
        return message["pods"]

    async def make(self, pod: str, settings: Path) -> None:
        """Make a pod's namespaces."""
        await self.ground.ask("pod", pod=pod, settings=str(settings))

    async def connect(self, pod: str, heard: Event, lost: Callable[[], None]) -> Line:
        """Talk to a pod's init."""
        _, (descriptor,) = await self.ground.ask("connect", pod=pod)
        return Line(socket.socket(fileno=descriptor), heard, lost)

    async def kill(self, pod: str) -> None:
        """End a pod and all in it; returns when nothing of it is left."""
        await self.ground.ask("kill", pod=pod)

    async def end(self) -> None:
        """End the ground and all in it; returns when nothing of it is left."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(_end, str(self._folder))

    def close(self) -> None:
        """Leave the ground as it is."""
        if self._ground is not None:
            self._ground.close()


def _end(folder: str) -> None:
    with channel.connect(folder, _SOCKET) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        channel.send(line, {"do": "hello"})
        _, notes, _, _ = line.recvmsg(channel.LARGEST, socket.CMSG_SPACE(_CREDENTIALS.size))
        # The kernel says who answered in our own numbers; the ground knows only those of its namespace.
        pid, _, _ = _CREDENTIALS.unpack_from(notes[0][2])
        process = os.pidfd_open(pid)
        try:
            channel.send(line, {"do": "end"})
            # Readable once its whole pid namespace is dead.
            select.select([process], [], [], _END_SECONDS)
        finally:
            os.close(process)
