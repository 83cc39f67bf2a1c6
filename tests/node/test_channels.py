"""What a client says over a WebSocket, by the protocol that was agreed and not by the kind of frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rayward.local.node.endpoint.channels import SocketChannels, tells_status


def _channels(protocol: str, *messages: dict[str, Any]) -> SocketChannels:
    return _offered([protocol], [], *messages)


def _offered(protocols: list[str], sent: list[Any], *messages: dict[str, Any]) -> SocketChannels:
    waiting: Iterator[dict[str, Any]] = iter([*messages, {"type": "websocket.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def send(message: Any) -> None:
        sent.append(message)

    return SocketChannels({"subprotocols": protocols}, receive, send)


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"])
@pytest.mark.parametrize("frame", [{"text": "\x00echo"}, {"bytes": b"\x00echo"}])
async def test_text_and_binary_frames_mean_the_same(protocol: str, frame: dict[str, Any]) -> None:
    channels = _channels(protocol, {"type": "websocket.receive", **frame})
    assert await channels.read() == (0, b"echo")
    assert await channels.read() is None


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["v4.base64.channel.k8s.io", "base64.channel.k8s.io"])
@pytest.mark.parametrize("frame", [{"text": "0ZWNobw=="}, {"bytes": b"0ZWNobw=="}])
async def test_frames_of_the_base64_protocols_are_base64_whatever_their_kind(
    protocol: str, frame: dict[str, Any]
) -> None:
    channels = _channels(protocol, {"type": "websocket.receive", **frame})
    assert await channels.read() == (0, b"echo")


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["v4.base64.channel.k8s.io", "base64.channel.k8s.io"])
async def test_what_is_said_in_the_base64_protocols_is_text(protocol: str) -> None:
    sent: list[Any] = []
    channels = _offered([protocol], sent)
    await channels.write(1, b"echo")
    assert sent == [{"type": "websocket.send", "text": "1ZWNobw=="}]


@pytest.mark.parametrize(
    ("offered", "chosen", "structured"),
    [
        (["v4.base64.channel.k8s.io"], "v4.base64.channel.k8s.io", True),
        (["channel.k8s.io", "v4.channel.k8s.io"], "channel.k8s.io", False),
        (["unheard.of", "v4.channel.k8s.io"], "v4.channel.k8s.io", True),
    ],
)
def test_the_clients_first_protocol_that_is_known_is_spoken(offered: list[str], chosen: str, structured: bool) -> None:
    channels = _offered(offered, [])
    assert (channels.protocol, tells_status(channels)) == (chosen, structured)


@pytest.mark.anyio
async def test_a_client_that_speaks_no_known_protocol_is_refused() -> None:
    sent: list[Any] = []
    assert not await _offered(["unheard.of"], sent, {"type": "websocket.connect"}).accept()
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.anyio
async def test_a_client_that_asks_for_no_protocol_is_let_in() -> None:
    sent: list[Any] = []
    assert await _offered([], sent, {"type": "websocket.connect"}).accept()
    assert sent == [{"type": "websocket.accept", "subprotocol": None}]
