"""Leaving HTTP, from both sides: the client of ours and the server of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from rayward.net.duplex import Duplex, join
from rayward.net.errors import ConnectFailed, ConnectionLost, ProtocolError
from rayward.net.server import Leaving, Server, ServerTls, listen
from rayward.net.tls import ClientTls, client_context
from rayward.net.upgrade import NotUpgraded, ask, dial, read_head, upgraded
from rayward.net.websocket import WebSocket
from tests.net.peer import Identities
from tests.net.wire import pair

pytestmark = pytest.mark.anyio

_SWITCH = [(b"Connection", b"Upgrade"), (b"Upgrade", b"echo")]
App = Callable[[Any, Any, Any], Awaitable[None]]


async def _echo(connection: Duplex) -> None:
    while data := await connection.read():
        await connection.write(data)
    connection.close()


async def _app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    leaving: Leaving = scope["extensions"]["connection"]
    if leaving.asked_upgrade() == "echo":
        await _echo(leaving.switch(_SWITCH))
        return
    body = f"{scope['method']} {leaving.asked_upgrade()}".encode()
    await send({"type": "http.response.start", "status": 418, "headers": [(b"x-why", b"no")]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def _serving(app: App, tls: ServerTls | None = None, **more: Any) -> AsyncGenerator[int]:
    listener = listen("127.0.0.1", 0)
    server = Server(app, listener, tls, websocket=WebSocket, **more)
    await server.start()
    try:
        async with asyncio.timeout(30):
            yield listener.getsockname()[1]
    finally:
        await server.stop()


async def test_a_connection_that_left_http_carries_bytes() -> None:
    async with (
        _serving(_app) as port,
        upgraded("GET", f"http://127.0.0.1:{port}/x?y=z", "echo") as (connection, answer),
    ):
        assert (answer.status, answer.header("UPGRADE")) == (101, "echo")
        for part in (b"one", b"x" * 1_000_000):
            writing = asyncio.create_task(connection.write(part))
            assert await connection.reader.readexactly(len(part)) == part
            await writing


async def test_over_tls(identities: Identities, tmp_path: Path) -> None:
    (tmp_path / "s.crt").write_bytes(identities.server.certificate)
    (tmp_path / "s.key").write_bytes(identities.server.key)
    context = client_context(ClientTls(identities.trust))
    async with (
        _serving(_app, ServerTls(tmp_path / "s.crt", tmp_path / "s.key")) as port,
        upgraded("POST", f"https://127.0.0.1:{port}/", "echo", tls=context) as (connection, _),
    ):
        await connection.write(b"secret")
        assert await connection.reader.readexactly(6) == b"secret"


async def test_bytes_that_come_with_the_request_are_not_lost() -> None:
    async with _serving(_app) as port:
        connection = await dial("127.0.0.1", port)
        head = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
        await connection.write(head + b"early")
        await connection.write(b" bird")
        answer = await connection.reader.readuntil(b"\r\n\r\n")
        assert read_head(answer).status == 101
        assert await connection.reader.readexactly(10) == b"early bird"
        connection.close()


async def test_half_of_a_connection_can_end_first() -> None:
    async with _serving(_app) as port, upgraded("GET", f"http://127.0.0.1:{port}/", "echo") as (connection, _):
        await connection.write(b"all I had to say")
        connection.finish()
        assert await connection.reader.read() == b"all I had to say"


async def test_a_server_that_stays_with_http_says_why() -> None:
    async with _serving(_app) as port:
        with pytest.raises(NotUpgraded, match="POST other") as caught:
            async with upgraded("POST", f"http://127.0.0.1:{port}/", "other"):
                pass
    answer = caught.value.answer
    assert (answer.status, answer.header("x-why"), answer.body) == (418, "no", b"POST other")


async def test_nobody_there() -> None:
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ConnectFailed, match=f"dial tcp 127.0.0.1:{port}: "):
        await dial("127.0.0.1", port)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 abc\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 101 X\r\nno end", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ProtocolError),
        (b"", ConnectionLost),
    ],
    ids=["no HTTP", "no status", "half a head", "half a body", "no chunk", "nothing"],
)
async def test_an_answer_that_is_none(said: bytes, kind: type[Exception]) -> None:
    async with pair() as (near, far):
        await far.write(said)
        far.finish()
        with pytest.raises(kind):
            await ask(near, "GET", "/", [])


async def test_a_refusal_in_chunks_is_read_to_its_end() -> None:
    async with pair() as (near, far):
        await far.write(b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
        assert (await ask(near, "GET", "/", [])).body == b"abcde"


async def test_a_joined_pair_ends_with_either_side() -> None:
    async with pair() as (caller, near), pair() as (far, called):
        joining = asyncio.create_task(join(near, far))
        await caller.write(b"question")
        assert await called.read() == b"question"
        caller.finish()
        assert await called.read() == b""
        await called.write(b"answer")
        assert await caller.read() == b"answer"
        called.close()
        assert await caller.read() == b""
        await joining


async def test_the_end_of_the_server_ends_what_left_http() -> None:
    async with asyncio.timeout(30):
        async with _serving(_app) as port:
            connection = await dial("127.0.0.1", port)
            answer = await ask(connection, "GET", "/", [("Host", "x"), ("Connection", "Upgrade"), ("Upgrade", "echo")])
            assert answer.status == 101
        assert await connection.read() == b""
        connection.close()


async def test_an_answer_can_be_cut_off() -> None:
    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})
        await send({"type": "http.response.body", "body": b"only this", "more_body": True})
        scope["extensions"]["connection"].abort()

    async with _serving(app) as port:
        connection = await dial("127.0.0.1", port)
        with pytest.raises(ConnectionLost):
            await ask(connection, "GET", "/", [("Host", "x")])
        connection.close()


async def test_a_subprotocol_may_have_a_slash() -> None:
    seen: list[list[str]] = []

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        seen.append(scope["subprotocols"])
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "SPDY/3.1+portforward.k8s.io"})
        await send({"type": "websocket.close", "code": 1000})

    async with _serving(app) as port:
        connection = await dial("127.0.0.1", port)
        headers = [
            ("Host", "x"),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("Sec-WebSocket-Protocol", "SPDY/3.1+portforward.k8s.io, other"),
        ]
        answer = await ask(connection, "GET", "/", headers)
        assert answer.header("sec-websocket-protocol") == "SPDY/3.1+portforward.k8s.io"
        connection.close()
    assert seen == [["SPDY/3.1+portforward.k8s.io", "other"]]


async def test_a_websocket_knows_its_clients_certificate(identities: Identities, tmp_path: Path) -> None:
    seen: list[Any] = []

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        seen.append(scope["extensions"].get("tls"))
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": 1000})

    for name, content in (
        ("s.crt", identities.server.certificate),
        ("s.key", identities.server.key),
        ("ca.crt", identities.authority.certificate),
    ):
        (tmp_path / name).write_bytes(content)
    tls = ServerTls(tmp_path / "s.crt", tmp_path / "s.key", tmp_path / "ca.crt")
    pairs = (identities.client.certificate.decode(), identities.client.key.decode())
    async with _serving(app, tls) as port:
        for certificate in ((), pairs):
            context = client_context(ClientTls(identities.trust), *certificate)
            async with connect(f"wss://127.0.0.1:{port}/", ssl=context) as socket:
                await socket.wait_closed()
    assert seen == [None, {"client_subject": ("alice", ("team",))}]


async def test_a_websocket_can_be_left_to_the_application() -> None:
    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        assert scope["extensions"]["connection"].asked_upgrade() == "websocket"
        await _echo(scope["extensions"]["connection"].switch(_SWITCH))

    async with (
        _serving(app, carried=lambda target: target == b"/mine?x=1") as port,
        upgraded("GET", f"http://127.0.0.1:{port}/mine?x=1", "websocket") as (connection, _),
    ):
        await connection.write(b"no frame at all")
        assert await connection.reader.readexactly(15) == b"no frame at all"
