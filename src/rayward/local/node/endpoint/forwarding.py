"""Ports of pods: port-forward over SPDY and over WebSocket, and plain connections for the API server's proxy."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import struct
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import section
from rayward.local.node.endpoint.channels import SocketChannels
from rayward.local.node.work.asking import Refused, open_tcp
from rayward.local.node.work.worker import PodWorker
from rayward.net.duplex import Duplex
from rayward.net.errors import ConnectionLost
from rayward.net.spdysession import Session, Stream
from rayward.net.tls import ClientTls, client_context

_log = logging.getLogger(__name__)
PROTOCOL: Final = "portforward.k8s.io"
_NO_TLS: Final = "tls: first record does not look like a TLS handshake"
_LOOPBACK: Final = "127.0.0.1"
_PAIR_SECONDS: Final = 30.0
_DIAL_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.5


async def until_gone(worker: PodWorker, work: Awaitable[None]) -> None:
    """Do ``work``, but not longer than the pod lives."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(worker))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(worker: PodWorker) -> None:
    missed = 0
    # a line that broke is mended in between: only one that stays away tells that the pod is gone
    while missed < 2:
        missed = missed + 1 if worker.line is None else 0
        await asyncio.sleep(_LOOK_SECONDS)


async def connect(worker: PodWorker, address: str, port: int) -> Duplex:
    """A connection to a port, from inside the pod's network.

    Raises:
        Refused: Nobody listens there.
    """
    line = worker.line
    if line is None:
        raise Refused(f"dial tcp {address}:{port}: connect: no route to host")
    try:
        async with asyncio.timeout(_DIAL_SECONDS):
            made = await open_tcp(line, address, port)
    except TimeoutError as error:
        raise Refused(f"dial tcp {address}:{port}: i/o timeout") from error
    return Duplex(*await asyncio.open_connection(sock=made))


async def connect_for_proxy(worker: PodWorker, port: int, *, tls: bool) -> Duplex:
    """A connection to a port at the pod's own address; certificates of pods are not checked, as by kube-apiserver.

    Raises:
        Refused: Nobody listens there, or not in TLS.
    """
    address = section(worker.pod, "status").get("podIP") or _LOOPBACK
    connection = await connect(worker, address, port)
    if tls:
        try:
            async with asyncio.timeout(_DIAL_SECONDS):
                await connection.writer.start_tls(client_context(ClientTls(verify=False)), server_hostname=address)
        except (OSError, TimeoutError) as error:
            connection.abort()
            raise Refused(f"tls: {error}" if str(error) else _NO_TLS) from error
    return connection


class Forwarding:
    """Port-forward in a SPDY session: of every connection a stream for its data and one for its trouble."""

    def __init__(self, worker: PodWorker, session: Session) -> None:
        self._worker = worker
        self._session = session
        self._unpaired: dict[str, tuple[str, Stream, asyncio.TimerHandle]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the client leaves."""
        try:
            while (stream := await self._session.accept()) is not None:
                await self._take(stream)
        finally:
            for _, _, timer in self._unpaired.values():
                timer.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, stream: Stream) -> None:
        kind, port = stream.headers.get("streamtype", ""), stream.headers.get("port", "")
        if kind not in ("data", "error") or not port.isdigit() or not 0 < int(port) < 1 << 16:
            await stream.reset()
            return
        # clients before request ids opened the two streams one after the other
        name = stream.headers.get("requestid", "") or str(stream.number + (0 if kind == "error" else -2))
        other = self._unpaired.pop(name, None)
        if other is None:
            timer = asyncio.get_running_loop().call_later(_PAIR_SECONDS, self._give_up, name)
            self._unpaired[name] = (kind, stream, timer)
            return
        other[2].cancel()
        if other[0] == kind:
            self._later(other[1].reset())
            self._later(stream.reset())
            return
        data, error = (stream, other[1]) if kind == "data" else (other[1], stream)
        self._later(self._carry(data, error, int(port)))

    def _give_up(self, name: str) -> None:
        lonely = self._unpaired.pop(name, None)
        if lonely is not None:
            self._later(lonely[1].reset())

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        # a client that is gone needs no answer
        if error is not None and not isinstance(error, ConnectionLost):
            _log.error("forwarding a port failed", exc_info=error)

    async def _carry(self, data: Stream, error: Stream, port: int) -> None:
        with contextlib.suppress(ConnectionLost):
            try:
                connection = await connect(self._worker, _LOOPBACK, port)
            except Refused as refused:
                metadata = self._worker.pod["metadata"]
                why = f"error forwarding port {port} to pod {metadata['name']}, uid {metadata['uid']}: {refused}"
                await error.write(why.encode())
            else:
                await _join(data, connection)
            await error.finish()
            await data.finish()
            # of a client that has more to say nobody wants to hear it
            await data.reset()


async def _join(stream: Stream, connection: Duplex) -> None:
    async def inward() -> None:
        while data := await stream.read():
            await connection.write(data)
        connection.finish()

    async def outward() -> None:
        while data := await connection.read():
            await stream.write(data)
        await stream.finish()

    tasks = [asyncio.ensure_future(inward()), asyncio.ensure_future(outward())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        # the pod may refuse to hear more and still have to say something
        if tasks[0] in done and tasks[0].exception() and not tasks[1].done() and not stream.over:
            await asyncio.wait(tasks[1:])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connection.close()


async def forward_channels(worker: PodWorker, ports: Sequence[int], channels: SocketChannels) -> None:
    """Port-forward over WebSocket: one connection per port, of each a channel for its data and one for its trouble."""
    connections: dict[int, Duplex] = {}
    pumps: list[asyncio.Task[None]] = []
    for number, port in enumerate(ports):
        for channel in (2 * number, 2 * number + 1):
            await channels.write(channel, struct.pack("<H", port))
        try:
            connection = connections[2 * number] = await connect(worker, _LOOPBACK, port)
        except Refused as error:
            await channels.write(2 * number + 1, str(error).encode())
            continue
        pumps.append(asyncio.create_task(_pump(connection, 2 * number, channels)))
    reading = asyncio.create_task(_hand_on(channels, connections))
    try:
        # a port that has nothing more to say is no reason to leave the others
        ended = asyncio.gather(*pumps, return_exceptions=True)
        await asyncio.wait((reading, ended), return_when=asyncio.FIRST_COMPLETED)
        await channels.close()
    finally:
        for task in (*pumps, reading):
            task.cancel()
        await asyncio.gather(*pumps, reading, return_exceptions=True)
        for connection in connections.values():
            connection.close()


async def _pump(connection: Duplex, channel: int, channels: SocketChannels) -> None:
    with contextlib.suppress(ConnectionLost):
        while data := await connection.read():
            await channels.write(channel, data)


async def _hand_on(channels: SocketChannels, connections: dict[int, Duplex]) -> None:
    while (message := await channels.read()) is not None:
        connection = connections.get(message[0])
        if connection is not None:
            with contextlib.suppress(ConnectionLost):
                await connection.write(message[1])
