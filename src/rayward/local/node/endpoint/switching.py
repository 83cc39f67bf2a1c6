"""Agreeing on SPDY, and commands over it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from rayward.kube.machinery.jsonvalue import Object
from rayward.local.node.endpoint import forwarding, streams
from rayward.local.node.endpoint.channels import (
    ERROR,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    Channels,
    SpdyChannels,
    gather_streams,
)
from rayward.local.node.endpoint.refusal import Refusal
from rayward.local.node.work.worker import PodWorker
from rayward.net.spdysession import Session

_STREAMS_SECONDS: Final = 30.0


async def serve_command(
    kind: str, worker: PodWorker, container: str, query: streams.Query, session: Session, protocol: str
) -> None:
    """Run or join a program, over the streams that the client opens."""
    tty = streams.flag(query, "tty")
    asked = {
        STDIN: streams.flag(query, "input", "stdin"),
        STDOUT: streams.flag(query, "output", "stdout"),
        STDERR: streams.flag(query, "error", "stderr") and not tty,
        RESIZE: tty and protocol not in ("channel.k8s.io", "v2.channel.k8s.io"),
    }
    wanted = {ERROR, *(number for number, yes in asked.items() if yes)}
    try:
        async with asyncio.timeout(_STREAMS_SECONDS):
            opened = await gather_streams(session, wanted)
    except TimeoutError:
        return
    if opened is None:
        return
    channels = SpdyChannels(session, opened, protocol)
    try:
        await command_of(kind)(worker, container, query, channels)
    finally:
        await channels.release()


def command_of(kind: str) -> Callable[[PodWorker, str, streams.Query, Channels], Awaitable[None]]:
    """What serves an exec or an attach."""
    return streams.execute if kind == "exec" else streams.attach


def negotiated(scope: Object, known: Sequence[str]) -> str:
    """The protocol inside SPDY that both sides know.

    Raises:
        Refusal: There is none.
    """
    offered = [
        name.strip()
        for key, value in scope["headers"]
        if key == b"x-stream-protocol-version"
        for name in value.decode("latin-1").split(",")
    ]
    if not offered and forwarding.PROTOCOL in known:
        return forwarding.PROTOCOL
    found = next((name for name in offered if name in known), None)
    if found is None:
        told = f"client supports [{' '.join(offered)}], server accepts [{' '.join(known)}]"
        raise Refusal(403, f"unable to upgrade: unable to negotiate protocol: {told}")
    return found


def agreed(upgrade: str, protocol: str = "") -> list[tuple[bytes, bytes]]:
    """Headers that agree to another protocol."""
    headers = [(b"Connection", b"Upgrade"), (b"Upgrade", upgrade.encode())]
    return [*headers, (b"X-Stream-Protocol-Version", protocol.encode())] if protocol else headers
