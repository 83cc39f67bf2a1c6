"""Commands, attached terminals and ports over WebSocket, in Kubernetes' channel protocols."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

import orjson

from rayward.kube.machinery.jsonvalue import entries
from rayward.local.node.sandbox import Line, SandboxError
from rayward.local.node.work import pipes
from rayward.local.node.work.asking import Refused, open_tcp
from rayward.local.node.work.worker import PodWorker

Object = dict[str, Any]
Send = Callable[[Object], Awaitable[None]]
Receive = Callable[[], Awaitable[Object]]
Query = Mapping[str, list[str]]

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_PROTOCOLS: Final = (
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
)
_READ: Final = 32 * 1024


class Channels:
    """Numbered channels in one WebSocket."""

    def __init__(self, scope: Object, receive: Receive, send: Send) -> None:
        offered: Sequence[str] = entries(scope, "subprotocols")
        self.protocol = next((name for name in _PROTOCOLS if name in offered), None)
        self._receive = receive
        self._send = send
        self._open = True

    async def accept(self) -> None:
        """Agree to talk."""
        await self._receive()
        await self._send({"type": "websocket.accept", "subprotocol": self.protocol})

    async def read(self) -> tuple[int, bytes] | None:
        """The next message: channel and data; None at the end."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                self._open = False
                return None
            data = message.get("bytes")
            if data is None:
                text = (message.get("text") or "").encode()
                data = bytes([text[0] - 48]) + base64.b64decode(text[1:]) if text else b""
            if data:
                return data[0], bytes(data[1:])

    async def write(self, channel: int, data: bytes) -> None:
        """Send on a channel."""
        if not self._open:
            return
        if self.protocol == "base64.channel.k8s.io":
            await self._send({"type": "websocket.send", "text": f"{channel}{base64.b64encode(data).decode()}"})
        else:
            await self._send({"type": "websocket.send", "bytes": bytes([channel]) + data})

    async def close(self) -> None:
        """Say goodbye."""
        if self._open:
            self._open = False
            await self._send({"type": "websocket.close", "code": 1000})


def outcome(code: int) -> bytes:
    """How a command ended, as the error channel tells it."""
    if code == 0:
        return b'{"metadata":{},"status":"Success"}'
    return orjson.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: exit status {code}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
        }
    )


def failure(message: str) -> bytes:
    """A command that did not run, as the error channel tells it."""
    return orjson.dumps(
        {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500}
    )


async def execute(worker: PodWorker, container: str, query: Query, scope: Object, receive: Receive, send: Send) -> None:
    """Run a command in a container."""
    channels = Channels(scope, receive, send)
    await channels.accept()
    line = worker.line
    assert line is not None
    tty, wants_input = _flag(query, "tty"), _flag(query, "input", "stdin")
    stdin_in, stdin_out = os.pipe()
    out_in, out_out = os.pipe()
    err_in, err_out = os.pipe()
    try:
        running = await line.enter(container, list(query.get("command", ())), (stdin_in, out_out, err_out), tty=tty)
    except SandboxError as error:
        for descriptor in (stdin_out, out_in, err_in):
            os.close(descriptor)
        await channels.write(_ERROR, failure(str(error)))
        await channels.close()
        return
    finally:
        for descriptor in (stdin_in, out_out, err_out):
            os.close(descriptor)
    writer, terminal = stdin_out, running.terminal
    if terminal is not None:
        os.close(stdin_out)
        os.close(out_in)
        writer, out_in = os.dup(terminal), terminal
    if not wants_input and terminal is None:
        os.close(writer)
        writer = -1
    await channels.write(_STDOUT, b"")
    pumps = [
        asyncio.create_task(_pump(out_in, _STDOUT, channels)),
        asyncio.create_task(_pump(err_in, _STDERR, channels)),
    ]
    inputs = asyncio.create_task(_take(channels, writer, line, terminal=terminal is not None))
    try:
        code = await _first(running.left, inputs)
        if code is not None:
            await asyncio.gather(*pumps)
            await channels.write(_ERROR, outcome(code))
            await channels.close()
    except SandboxError as error:
        await channels.write(_ERROR, failure(str(error)))
        await channels.close()
    finally:
        for task in (*pumps, inputs):
            task.cancel()
        await asyncio.gather(*pumps, inputs, return_exceptions=True)


async def _first(left: asyncio.Future[int], inputs: asyncio.Task[None]) -> int | None:
    await asyncio.wait((left, inputs), return_when=asyncio.FIRST_COMPLETED)
    if left.done():
        return left.result()
    return None


async def attach(worker: PodWorker, container: str, query: Query, scope: Object, receive: Receive, send: Send) -> None:
    """Join the streams of a container's program."""
    channels = Channels(scope, receive, send)
    await channels.accept()
    line = worker.line
    assert line is not None
    out_in, out_out = os.pipe()
    err_in, err_out = os.pipe()
    try:
        _, handed = await line.ask("attach", (out_out, err_out), name=container)
    except SandboxError as error:
        os.close(out_in)
        os.close(err_in)
        await channels.write(_ERROR, failure(str(error)))
        await channels.close()
        return
    finally:
        os.close(out_out)
        os.close(err_out)
    writer = handed[0] if handed else -1
    if writer >= 0 and not _flag(query, "input", "stdin"):
        os.close(writer)
        writer = -1
    await channels.write(_STDOUT, b"")
    pumps = [
        asyncio.create_task(_pump(out_in, _STDOUT, channels)),
        asyncio.create_task(_pump(err_in, _STDERR, channels)),
    ]
    inputs = asyncio.create_task(_take(channels, writer, line, terminal=_flag(query, "tty")))
    over = asyncio.create_task(_run_over(worker, container))
    try:
        await asyncio.wait((over, inputs), return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            await channels.write(_ERROR, outcome(0))
            await channels.close()
    finally:
        for task in (*pumps, inputs, over):
            task.cancel()
        await asyncio.gather(*pumps, inputs, over, return_exceptions=True)


async def _run_over(worker: PodWorker, container: str) -> None:
    attempt = worker.containers[container].run
    while (run := worker.containers[container].run) is not None and not run.over and attempt is not None:
        if run.attempt != attempt.attempt:
            return
        await asyncio.sleep(0.1)


async def forward(worker: PodWorker, ports: Sequence[int], scope: Object, receive: Receive, send: Send) -> None:
    """Carry connections to ports of a pod, each by a channel for data and one for trouble."""
    channels = Channels(scope, receive, send)
    await channels.accept()
    line = worker.line
    if line is None or not ports:
        await channels.close()
        return
    writers: dict[int, asyncio.StreamWriter] = {}
    pumps: list[asyncio.Task[None]] = []
    for number, port in enumerate(ports):
        for channel in (2 * number, 2 * number + 1):
            await channels.write(channel, struct.pack("<H", port))
        try:
            made = await open_tcp(line, "127.0.0.1", port)
        except Refused as error:
            await channels.write(2 * number + 1, str(error).encode())
            continue
        reader, writers[2 * number] = await asyncio.open_connection(sock=made)
        pumps.append(asyncio.create_task(_carry(reader, 2 * number, channels)))
    try:
        while pumps and (message := await channels.read()) is not None:
            writer = writers.get(message[0])
            if writer is not None:
                with contextlib.suppress(OSError):
                    writer.write(message[1])
                    await writer.drain()
        await channels.close()
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        for writer in writers.values():
            writer.close()


async def _carry(reader: asyncio.StreamReader, channel: int, channels: Channels) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_READ):
            await channels.write(channel, data)
    await channels.close()


async def _pump(descriptor: int, channel: int, channels: Channels) -> None:
    async with aclosing(pipes.parts(descriptor)) as parts:
        async for data in parts:
            await channels.write(channel, data)


async def _take(channels: Channels, writer: int, line: Line, *, terminal: bool) -> None:
    """Hand on what the client sends, until it goes."""
    try:
        while (message := await channels.read()) is not None:
            channel, data = message
            if channel == _STDIN and writer >= 0:
                await asyncio.to_thread(pipes.write_all, writer, data)
            elif channel == _CLOSE and data[:1] == bytes([_STDIN]) and writer >= 0 and not terminal:
                os.close(writer)
                writer = -1
            elif channel == _RESIZE and terminal and writer >= 0:
                await _resize(line, writer, data)
    finally:
        if writer >= 0:
            os.close(writer)


async def _resize(line: Line, terminal: int, data: bytes) -> None:
    with contextlib.suppress(orjson.JSONDecodeError, SandboxError, KeyError, TypeError, ValueError):
        size = orjson.loads(data)
        await line.ask("resize", (terminal,), rows=int(size["Height"]), columns=int(size["Width"]))


def _flag(query: Query, *names: str) -> bool:
    return any(value in ("1", "true") for name in names for value in query.get(name, ()))
