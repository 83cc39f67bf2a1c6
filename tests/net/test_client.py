from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import websockets
from websockets.asyncio.server import ServerConnection, serve

from rayward.net.client import HttpClient, Route
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, ProtocolError, TimedOut
from rayward.net.tls import ClientTls, client_context
from tests.net.peer import Handler, Identities, Peer, Proxy, peer

pytestmark = pytest.mark.anyio


async def test_a_request_arrives_as_it_was_sent(plain: Peer) -> None:
    async with HttpClient() as client:
        headers = [("Accept", "application/json"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")]
        answer = await client.request("PATCH", f"{plain.url}/echo/a%2Fb?c=%3D", headers=headers, body=b"{}")
        told = json.loads(answer.body)
    assert answer.status == 200
    assert answer.headers["CONTENT-length"] == str(len(answer.body))
    assert (told["method"], told["path"], told["body"]) == ("PATCH", "/echo/a%2Fb?c=%3D", "{}")
    assert told["headers"]["Impersonate-Group"] == ["a", "b"]


@pytest.mark.parametrize("reply", ["whole", "in parts"])
async def test_an_answer_may_be_only_so_large(plain: Peer, reply: str) -> None:
    body = b"x" * 1000
    plain.answers["/large"] = lambda h: h.reply(200, body) if reply == "whole" else h.chunks(body[:500], body[500:])
    async with HttpClient() as client:
        assert (await client.request("GET", f"{plain.url}/large", max_body=1000)).body == body
        with pytest.raises(ProtocolError, match="larger than 999"):
            await client.request("GET", f"{plain.url}/large", max_body=999)


async def test_an_answer_may_be_only_so_large_when_it_is_unpacked(plain: Peer) -> None:
    packed = gzip.compress(b"x" * 100_000)
    plain.answers["/packed"] = lambda handler: handler.reply(200, packed, Content_Encoding="gzip")
    async with HttpClient() as client:
        assert len((await client.request("GET", f"{plain.url}/packed", max_body=100_000)).body) == 100_000
        with pytest.raises(ProtocolError, match="larger than 99999"):
            await client.request("GET", f"{plain.url}/packed", max_body=99_999)


async def test_connections_are_used_again(plain: Peer) -> None:
    async with HttpClient() as client:
        answers = [json.loads((await client.request("GET", f"{plain.url}/echo")).body) for _ in range(3)]
    assert len({answer["connection"] for answer in answers}) == 1


async def test_only_so_many_requests_are_in_flight(plain: Peer) -> None:
    reached, most, now = asyncio.Event(), 0, 0
    loop = asyncio.get_running_loop()

    def slow(handler: Handler) -> None:
        nonlocal most, now
        with plain.lock:
            now += 1
            most = max(most, now)
        loop.call_soon_threadsafe(reached.set)
        handler.told()
        handler.reply(200, b"")
        with plain.lock:
            now -= 1

    plain.answers["/slow"] = slow
    async with HttpClient(max_in_flight=2) as client:
        await asyncio.gather(*(client.request("GET", f"{plain.url}/slow") for _ in range(10)))
    assert reached.is_set()
    assert most <= 2
    assert len(plain.seen) == 10


async def test_a_redirect_is_an_answer(plain: Peer) -> None:
    plain.answers["/moved"] = lambda handler: handler.reply(302, b"", Location="/echo")
    async with HttpClient() as client:
        assert (await client.request("GET", f"{plain.url}/moved")).status == 302


async def test_an_answer_in_chunks_is_put_together(plain: Peer) -> None:
    plain.answers["/chunks"] = lambda handler: handler.chunks(b"ab", b"cd")
    async with HttpClient() as client:
        assert (await client.request("GET", f"{plain.url}/chunks")).body == b"abcd"


def _unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _nonsense(handler: Handler) -> None:
    handler.wfile.write(b"nonsense\r\n\r\n")
    handler.hang_up()


def _half(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.hang_up()


async def test_nobody_listens() -> None:
    async with HttpClient() as client:
        with pytest.raises(ConnectFailed) as caught:
            await client.request("POST", f"http://127.0.0.1:{_unused_port()}/")
    assert not caught.value.sent


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/silence", TimedOut, id="no answer in time"),
        pytest.param("/gone", ConnectionLost, id="hangs up instead of answering"),
        pytest.param("/half", ConnectionLost, id="hangs up in the middle"),
        pytest.param("/nonsense", ProtocolError, id="does not speak HTTP"),
    ],
)
async def test_what_goes_wrong_below_http(plain: Peer, path: str, kind: type[NetworkError]) -> None:
    plain.answers |= {"/silence": plain.silence, "/gone": Handler.hang_up, "/half": _half, "/nonsense": _nonsense}
    async with HttpClient() as client:
        with pytest.raises(kind) as caught:
            await client.request("POST", f"{plain.url}{path}", seconds=0.2 if path == "/silence" else 20)
    assert caught.value.sent


class TestStream:
    async def test_parts_come_as_they_are_sent(self, plain: Peer) -> None:
        plain.answers["/chunks"] = lambda handler: handler.chunks(b"one\n", b"two\n")
        async with HttpClient() as client, client.stream("GET", f"{plain.url}/chunks") as stream:
            assert stream.status == 200
            assert b"".join([part async for part in stream]) == b"one\ntwo\n"

    async def test_silence_ends_it(self, plain: Peer) -> None:
        def start_and_stop(handler: Handler) -> None:
            handler.chunks(b"one\n", end=False)
            plain.silence(handler)

        plain.answers["/silence"] = start_and_stop
        heard: list[bytes] = []
        async with HttpClient() as client, client.stream("GET", f"{plain.url}/silence", silence_seconds=0.2) as stream:

            async def listen() -> None:
                async for part in stream:
                    heard.append(part)

            with pytest.raises(TimedOut):
                await listen()
        assert heard == [b"one\n"]

    async def test_a_lost_connection_is_not_an_end(self, plain: Peer) -> None:
        def cut(handler: Handler) -> None:
            handler.chunks(b"one\n", end=False)
            handler.hang_up()

        plain.answers["/cut"] = cut
        async with HttpClient() as client, client.stream("GET", f"{plain.url}/cut") as stream:
            with pytest.raises(ConnectionLost):
                _ = [part async for part in stream]

    async def test_errors_of_the_reader_stay_its_own(self, plain: Peer) -> None:
        async with HttpClient() as client:
            with pytest.raises(TimeoutError, match="mine"):
                async with client.stream("GET", f"{plain.url}/echo"):
                    raise TimeoutError("mine")

    async def test_an_open_stream_does_not_hold_up_requests(self, plain: Peer) -> None:
        def start_and_stop(handler: Handler) -> None:
            handler.chunks(b"one\n", end=False)
            plain.silence(handler)

        plain.answers["/silence"] = start_and_stop
        async with HttpClient(max_in_flight=1) as client, client.stream("GET", f"{plain.url}/silence"):
            assert (await client.request("GET", f"{plain.url}/echo")).status == 200


class TestTls:
    async def test_a_known_authority_and_a_client_certificate(self, secure: Peer, identities: Identities) -> None:
        tls = client_context(
            ClientTls(identities.trust), identities.client.certificate.decode(), identities.client.key.decode()
        )
        async with HttpClient() as client:
            answer = await client.request("GET", f"{secure.url}/echo", route=Route(tls))
        assert json.loads(answer.body)["client"] == "alice"

    async def test_an_unknown_authority(self, secure: Peer) -> None:
        async with HttpClient() as client:
            with pytest.raises(ConnectFailed, match="certificate verify failed"):
                await client.request("GET", f"{secure.url}/echo", route=Route(client_context(ClientTls())))

    async def test_verification_may_be_switched_off(self, secure: Peer) -> None:
        async with HttpClient() as client:
            route = Route(client_context(ClientTls(verify=False)))
            assert (await client.request("GET", f"{secure.url}/echo", route=route)).status == 200

    async def test_a_request_that_is_given_up_cuts_its_connection(self, secure: Peer, identities: Identities) -> None:
        asked, cut = threading.Event(), threading.Event()

        def say_no_goodbye(handler: Handler) -> None:
            asked.set()
            # Below TLS: a goodbye is not answered.
            with socket.socket(fileno=os.dup(handler.connection.fileno())) as wire, suppress(ConnectionResetError):
                wire.setblocking(True)
                while wire.recv(4096):
                    pass
            cut.set()

        secure.answers["/silence"] = say_no_goodbye
        route = Route(client_context(ClientTls(identities.trust)))
        async with HttpClient() as client:
            request = asyncio.create_task(client.request("GET", f"{secure.url}/silence", route=route))
            assert await asyncio.to_thread(asked.wait, 60)
            request.cancel()
            assert await asyncio.to_thread(cut.wait, 20), "it is polite for 30 s"

    async def test_the_name_in_the_certificate_may_differ_from_the_address(self, tmp_path: Path) -> None:
        identities = Identities(tmp_path, hosts=("kubernetes.internal",))
        tls = client_context(ClientTls(identities.trust))
        with peer(identities.server_context()) as server:
            async with HttpClient() as client:
                with pytest.raises(ConnectFailed):
                    await client.request("GET", f"{server.url}/echo", route=Route(tls))
                answer = await client.request("GET", f"{server.url}/echo", route=Route(tls, "kubernetes.internal"))
        assert answer.status == 200


class TestProxy:
    async def test_tls_goes_through_a_tunnel(self, secure: Peer, identities: Identities) -> None:
        proxy = Proxy(user="me:se cret")
        try:
            address = proxy.url.replace("http://", "http://me:se%20cret@")
            route = Route(client_context(ClientTls(identities.trust)), None, address)
            async with HttpClient() as client:
                assert (await client.request("GET", f"{secure.url}/echo", route=route)).status == 200
        finally:
            proxy.close()
        assert proxy.asked == [f"CONNECT {secure.url.removeprefix('https://')} HTTP/1.1"]

    async def test_plain_requests_are_forwarded(self, plain: Peer) -> None:
        proxy = Proxy()
        try:
            async with HttpClient() as client:
                assert (
                    await client.request("GET", f"{plain.url}/echo", route=Route(None, None, proxy.url))
                ).status == 200
        finally:
            proxy.close()
        assert proxy.asked == [f"GET {plain.url}/echo HTTP/1.1"]


@asynccontextmanager
async def _chat() -> AsyncGenerator[str]:
    async def talk(connection: ServerConnection) -> None:
        try:
            async for message in connection:
                await connection.send(message)
                if message == "bye":
                    return
        except websockets.ConnectionClosed:
            return

    async with serve(talk, "127.0.0.1", 0, subprotocols=[websockets.Subprotocol("v5.channel.k8s.io")]) as server:
        yield f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/"


class TestWebSocket:
    async def test_messages_go_both_ways_until_the_server_closes(self) -> None:
        async with (
            _chat() as url,
            HttpClient() as client,
            client.websocket(url, protocols=("v5.channel.k8s.io", "v4.channel.k8s.io")) as socket,
        ):
            assert socket.protocol == "v5.channel.k8s.io"
            await socket.send(b"\x01bytes")
            await socket.send("bye")
            assert [message async for message in socket] == [b"\x01bytes", "bye"]

    async def test_a_server_that_refuses(self, plain: Peer) -> None:
        async with HttpClient() as client:
            with pytest.raises(ProtocolError, match="200"):
                async with client.websocket(f"{plain.url}/echo"):
                    pass
