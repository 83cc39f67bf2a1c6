"""What a client says over a WebSocket, by the protocol that was agreed and not by the kind of frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rayward.local.node.endpoint.channels import SocketChannels


def _channels(protocol: str, *messages: dict[str, Any]) -> SocketChannels:
    waiting: Iterator[dict[str, Any]] = iter([*messages, {"type": "websocket.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def send(_message: Any) -> None:
        return None

    return SocketChannels({"subprotocols": [protocol]}, receive, send)


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"])
@pytest.mark.parametrize("frame", [{"text": "\x00echo"}, {"bytes": b"\x00echo"}])
async def test_text_and_binary_frames_mean_the_same(protocol: str, frame: dict[str, Any]) -> None:
    channels = _channels(protocol, {"type": "websocket.receive", **frame})
    assert await channels.read() == (0, b"echo")
    assert await channels.read() is None


@pytest.mark.anyio
@pytest.mark.parametrize("frame", [{"text": "0ZWNobw=="}, {"bytes": b"0ZWNobw=="}])
async def test_frames_of_the_base64_protocol_are_base64_whatever_their_kind(frame: dict[str, Any]) -> None:
    channels = _channels("base64.channel.k8s.io", {"type": "websocket.receive", **frame})
    assert await channels.read() == (0, b"echo")
