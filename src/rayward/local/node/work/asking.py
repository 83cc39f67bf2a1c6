"""Asking a container: commands in it, HTTP and TCP to it, each with a limit of time. For probes and hooks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import ssl
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from rayward.kube.machinery.jsonvalue import Object, entries
from rayward.local.node.sandboxes import Line, SandboxError
from rayward.local.node.work import pipes

_MOST_OUTPUT: Final = 10 * 1024
_OK: Final = range(200, 400)


class Refused(Exception):  # noqa: N818
    """The answer was no; the text says how, in the kubelet's words."""


async def run_command(line: Line, container: str, command: Sequence[str], seconds: float | None) -> tuple[int, bytes]:
    """Run a command in a container; its exit code and the beginning of its output.

    Raises:
        Refused: It did not start or took too long.
    """
    out_in, out_out = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        running = await line.enter(container, command, (null, out_out, out_out))
    except SandboxError as error:
        os.close(out_in)
        raise Refused(str(error)) from error
    finally:
        os.close(out_out)
        os.close(null)
    try:
        async with asyncio.timeout(seconds):
            output = await _collect(out_in)
            return await running.left, output
    except TimeoutError as error:
        await line.leave(running)
        raise Refused(f'command "{shlex.join(command)}" timed out after {_seconds(seconds)}') from error
    except SandboxError as error:
        raise Refused(str(error)) from error


async def _collect(descriptor: int) -> bytes:
    output = b""
    async with aclosing(pipes.parts(descriptor)) as parts:
        async for part in parts:
            output = (output + part)[:_MOST_OUTPUT]
    return output


async def open_tcp(line: Line, address: str, port: int) -> socket.socket:
    """A connection from inside the network of ``line``.

    Raises:
        Refused: Nobody is there.
    """
    try:
        made = await line.new_socket()
    except SandboxError as error:
        raise Refused(str(error)) from error
    try:
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except OSError as error:
        made.close()
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise Refused(f"dial tcp {address}:{port}: connect: {reason}") from error
    except BaseException:
        made.close()
        raise
    return made


async def ask_http(line: Line, address: str, get: Object, port: int, seconds: float | None) -> None:
    """An HTTP GET that must be answered below 400.

    Raises:
        Refused: It was not.
    """
    scheme = (get.get("scheme") or "HTTP").lower()
    path = get.get("path") or "/"
    path = path if path.startswith("/") else f"/{path}"
    target = get.get("host") or address
    url = f"{scheme}://{target}:{port}{path}"
    try:
        async with asyncio.timeout(seconds):
            status = await _status(line, target, port, path, entries(get, "httpHeaders"), tls=scheme == "https")
    except TimeoutError as error:
        raise Refused(f'Get "{url}": context deadline exceeded') from error
    except Refused as error:
        raise Refused(f'Get "{url}": {error}') from error
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        raise Refused(f'Get "{url}": EOF') from error
    if status not in _OK:
        raise Refused(f"HTTP probe failed with statuscode: {status}")


async def _status(line: Line, host: str, port: int, path: str, headers: Sequence[Object], *, tls: bool) -> int:
    made = await open_tcp(line, host, port)
    context = _unverified() if tls else None
    reader, writer = await asyncio.open_connection(sock=made, ssl=context, server_hostname=host if tls else None)
    try:
        sent = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/1.36", "Accept": "*/*", "Connection": "close"}
        sent.update({header["name"]: header.get("value", "") for header in headers})
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        await writer.drain()
        answer = await reader.readline()
        return int(answer.split()[1])
    except IndexError as error:
        raise ValueError("no HTTP answer") from error
    finally:
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError):
            await writer.wait_closed()


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def ask_tcp(line: Line, address: str, port: int, seconds: float | None) -> None:
    """A connection that must open.

    Raises:
        Refused: It did not.
    """
    try:
        async with asyncio.timeout(seconds):
            (await open_tcp(line, address, port)).close()
    except TimeoutError as error:
        raise Refused(f"dial tcp {address}:{port}: i/o timeout") from error


def port_number(container: Object, port: int | str) -> int:
    """A port of a container by number or name.

    Raises:
        Refused: It has none of that name.
    """
    if isinstance(port, int):
        return port
    if port.isdigit():
        return int(port)
    for found in entries(container, "ports"):
        if found.get("name") == port:
            return found["containerPort"]
    raise Refused(f"couldn't find port: {port}")


def _seconds(seconds: float | None) -> str:
    return f"{seconds:g}s"
