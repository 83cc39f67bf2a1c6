"""Commands in containers, and terminals attached to them, over channels."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final

import orjson

from rayward.local.node.endpoint.channels import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, Channels, tells_status
from rayward.local.node.sandboxes import Line, SandboxError
from rayward.local.node.work import pipes, sandboxing
from rayward.local.node.work.worker import PodWorker

Query = Mapping[str, list[str]]

_LAST_WORDS_SECONDS: Final = 5.0


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


async def _end(channels: Channels, status: bytes) -> None:
    if not tells_status(channels):
        status = orjson.loads(status).get("message", "").encode()
    await channels.write(ERROR, status)
    await channels.close()


async def execute(worker: PodWorker, container: str, query: Query, channels: Channels) -> None:
    """Run a command in a container."""
    line = worker.line
    assert line is not None
    tty, wants_input = flag(query, "tty"), flag(query, "input", "stdin")
    stdin_in, stdin_out = os.pipe()
    out_in, out_out = os.pipe()
    err_in, err_out = os.pipe()
    try:
        running = await line.enter(container, list(query.get("command", ())), (stdin_in, out_out, err_out), tty=tty)
    except SandboxError as error:
        for descriptor in (stdin_out, out_in, err_in):
            os.close(descriptor)
        await _end(channels, failure(str(error)))
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
    await channels.write(STDOUT, b"")
    pumps = [
        asyncio.create_task(_pump(out_in, STDOUT, channels)),
        asyncio.create_task(_pump(err_in, STDERR, channels)),
    ]
    inputs = asyncio.create_task(_take(channels, writer, line, terminal=terminal is not None))
    try:
        code = await _first(running.left, inputs)
        if code is not None:
            await asyncio.gather(*pumps)
            await _end(channels, outcome(code))
    except SandboxError as error:
        await _end(channels, failure(str(error)))
    finally:
        for task in (*pumps, inputs):
            task.cancel()
        await asyncio.gather(*pumps, inputs, return_exceptions=True)


async def _first(left: asyncio.Future[int], inputs: asyncio.Task[None]) -> int | None:
    await asyncio.wait((left, inputs), return_when=asyncio.FIRST_COMPLETED)
    if left.done():
        return left.result()
    return None


async def attach(worker: PodWorker, container: str, query: Query, channels: Channels) -> None:
    """Join the streams of a container's program."""
    line = worker.line
    assert line is not None
    out_in, out_out = os.pipe()
    err_in, err_out = os.pipe()
    try:
        _, handed = await line.ask("attach", (out_out, err_out), name=container)
    except SandboxError as error:
        os.close(out_in)
        os.close(err_in)
        await _end(channels, failure(str(error)))
        return
    finally:
        os.close(out_out)
        os.close(err_out)
    writer = handed[0] if handed else -1
    if writer >= 0 and not flag(query, "input", "stdin"):
        os.close(writer)
        writer = -1
    await channels.write(STDOUT, b"")
    pumps = [
        asyncio.create_task(_pump(out_in, STDOUT, channels)),
        asyncio.create_task(_pump(err_in, STDERR, channels)),
    ]
    once = container if writer >= 0 and _reads_once(worker.pod, container) else ""
    inputs = asyncio.create_task(_take(channels, writer, line, terminal=flag(query, "tty"), once=once))
    over = asyncio.create_task(_run_over(worker, container))
    try:
        await asyncio.wait((over, inputs), return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            # what it said last is still in the pipes, which end with it
            await asyncio.wait(pumps, timeout=_LAST_WORDS_SECONDS)
            await _end(channels, outcome(0))
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


async def _pump(descriptor: int, channel: int, channels: Channels) -> None:
    async with aclosing(pipes.parts(descriptor)) as parts:
        async for data in parts:
            await channels.write(channel, data)


async def _take(channels: Channels, writer: int, line: Line, *, terminal: bool, once: str = "") -> None:
    """Hand on what the client sends, until it goes; the input of the container ``once`` ends with this client's."""
    try:
        while (message := await channels.read()) is not None:
            channel, data = message
            if channel == STDIN and writer >= 0:
                await pipes.write_all(writer, data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]) and writer >= 0 and not terminal:
                os.close(writer)
                writer = -1
                await _shut(line, once)
            elif channel == RESIZE and terminal and writer >= 0:
                await _resize(line, writer, data)
    finally:
        if writer >= 0:
            os.close(writer)
    if writer >= 0:
        await _shut(line, once)


async def _shut(line: Line, container: str) -> None:
    if container:
        with contextlib.suppress(SandboxError):
            await line.ask("shut", name=container)


def _reads_once(pod: dict[str, Any], container: str) -> bool:
    return any(found["name"] == container and found.get("stdinOnce") for found in sandboxing.all_containers(pod))


async def _resize(line: Line, terminal: int, data: bytes) -> None:
    with contextlib.suppress(orjson.JSONDecodeError, SandboxError, KeyError, TypeError, ValueError):
        size = orjson.loads(data)
        await line.ask("resize", (terminal,), rows=int(size["Height"]), columns=int(size["Width"]))


def flag(query: Query, *names: str) -> bool:
    """Whether one of these parameters is set, by the kubelet's name or the API's."""
    return any(value in ("1", "true") for name in names for value in query.get(name, ()))
