from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayward.kube.client import verbs
from rayward.kube.client.access import Access
from rayward.kube.client.credentials import ConfigError, Credential, StaticCredentials
from rayward.kube.client.request import Request
from rayward.kube.client.transport.blocking import BlockingTransport
from rayward.kube.core.resource import PODS
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, ProtocolError, TimedOut
from rayward.net.tls import ClientTls
from tests.client.tokens import RotatingCredentials, demand_token
from tests.net.peer import Handler, Identities, Peer, Proxy, peer

LIST = verbs.list_(PODS)


@pytest.fixture
def identities(tmp_path: Path) -> Identities:
    return Identities(tmp_path)


@pytest.fixture
def server(identities: Identities) -> Iterator[Peer]:
    with peer(identities.server_context()) as listening:
        yield listening


@pytest.fixture
def transport(server: Peer, identities: Identities) -> Iterator[BlockingTransport]:
    made = BlockingTransport(Access(server.url, ClientTls(identities.trust)), user_agent="test")
    yield made
    made.close()


def told(transport: BlockingTransport, request: Request = LIST) -> dict[str, Any]:
    return json.loads(transport.request(request).body)


def test_what_the_server_sees(server: Peer, identities: Identities) -> None:
    credential = Credential("t", identities.client.certificate.decode(), identities.client.key.decode())
    access = Access(
        server.url + "/prefix",
        ClientTls(identities.trust),
        credentials=StaticCredentials(credential),
        headers=(("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
    )
    transport = BlockingTransport(access, user_agent="test")
    seen = told(transport, verbs.create(PODS, {"metadata": {"namespace": "a"}}))
    transport.close()
    assert (seen["path"], seen["client"]) == ("/prefix/api/v1/namespaces/a/pods", "alice")
    assert seen["body"] == '{"metadata":{"namespace":"a"}}'
    assert seen["headers"]["Authorization"] == ["Bearer t"]
    assert seen["headers"]["Impersonate-Group"] == ["a", "b"]
    assert seen["headers"]["Content-Type"] == ["application/json"]
    assert seen["headers"]["User-Agent"] == ["test"]


def test_who_is_behind_the_server_sees_the_headers_of_the_request(transport: BlockingTransport) -> None:
    seen = told(transport, Request("GET", "/echo", headers=(("X-Ray-Authorization", "Bearer r"),)))
    assert seen["headers"]["X-Ray-Authorization"] == ["Bearer r"]


def test_a_ctrl_c_while_an_answer_is_closed_is_not_lost(
    transport: BlockingTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: http.client.HTTPResponse) -> None:
        raise KeyboardInterrupt

    # close() flushes; what the finalizer of an answer raises would be ignored
    monkeypatch.setattr(http.client.HTTPResponse, "flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        transport.request(LIST)
    with pytest.raises(KeyboardInterrupt), transport.stream(LIST):
        pass


def test_an_answer_may_be_only_so_large(transport: BlockingTransport, server: Peer) -> None:
    server.answers["/large"] = lambda handler: handler.reply(200, b"x" * 1000)
    assert len(transport.request(Request("GET", "/large", max_body=1000)).body) == 1000
    with pytest.raises(ProtocolError, match="larger than 999"):
        transport.request(Request("GET", "/large", max_body=999))


def test_connections_are_used_again(transport: BlockingTransport) -> None:
    assert len({told(transport)["connection"] for _ in range(3)}) == 1


def test_a_connection_that_the_server_closed_meanwhile_is_not(transport: BlockingTransport, server: Peer) -> None:
    closed = threading.Event()

    def answer_and_close(handler: Handler) -> None:
        handler.reply(200, b"{}")
        handler.hang_up()
        closed.set()

    server.answers["/api/v1/pods"] = answer_and_close
    for _ in range(3):
        closed.clear()
        assert transport.request(LIST).status == 200
        assert closed.wait(10)


def test_threads_do_not_share_a_connection(transport: BlockingTransport) -> None:
    answers: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda: answers.append(told(transport))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8


def test_a_stream_comes_in_parts(transport: BlockingTransport, server: Peer) -> None:
    server.answers["/api/v1/pods"] = lambda handler: handler.chunks(b"one\n", b"two\n")
    with transport.stream(LIST) as stream:
        assert stream.status == 200
        assert stream.headers["transfer-encoding"] == "chunked"
        assert b"".join(stream) == b"one\ntwo\n"


def test_a_part_is_seen_before_the_next_is_sent(transport: BlockingTransport, server: Peer) -> None:
    read = threading.Event()

    def one_by_one(handler: Handler) -> None:
        handler.chunks(b"one\n", end=False)
        assert read.wait(10)
        handler.wfile.write(b"4\r\ntwo\n\r\n0\r\n\r\n")

    server.answers["/api/v1/pods"] = one_by_one
    with transport.stream(LIST) as stream:
        parts = iter(stream)
        assert next(parts) == b"one\n"
        read.set()
        assert list(parts) == [b"two\n"]


def test_tokens_are_replaced(server: Peer, identities: Identities) -> None:
    server.answers["/api/v1/pods"] = demand_token("three")
    access = Access(
        server.url, ClientTls(identities.trust), credentials=RotatingCredentials(["one", "two", "three", "four"])
    )
    transport = BlockingTransport(access)
    assert transport.request(LIST).status == 401, "once more, not for ever"
    with transport.stream(LIST) as stream:
        assert stream.status == 200
    transport.close()


def _nonsense(handler: Handler) -> None:
    handler.wfile.write(b"nonsense\r\n\r\n")
    handler.hang_up()


def _half(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.hang_up()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param(Handler.hang_up, ConnectionLost, id="hangs up instead of answering"),
        pytest.param(_half, ConnectionLost, id="hangs up in the middle"),
        pytest.param(_nonsense, ProtocolError, id="does not speak HTTP"),
        pytest.param(lambda handler: handler.peer.silence(handler), TimedOut, id="no answer in time"),
    ],
)
def test_what_goes_wrong_below_http(
    transport: BlockingTransport, server: Peer, answer: Any, kind: type[NetworkError]
) -> None:
    server.answers["/api/v1/pods"] = answer
    with pytest.raises(kind):
        transport.request(Request("GET", "/api/v1/pods", seconds=0.2 if kind is TimedOut else 20))
    del server.answers["/api/v1/pods"]
    assert transport.request(LIST).status == 200, "and the next request does well"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectFailed, match="cannot connect"):
        BlockingTransport(Access(f"http://127.0.0.1:{port}")).request(LIST)


def test_an_unknown_authority(server: Peer) -> None:
    with pytest.raises(ConnectFailed, match="certificate verify failed"):
        BlockingTransport(Access(server.url)).request(LIST)


def test_the_name_in_the_certificate_may_differ_from_the_address(tmp_path: Path) -> None:
    identities = Identities(tmp_path, hosts=("kubernetes.internal",))
    with peer(identities.server_context()) as server:
        with pytest.raises(ConnectFailed):
            BlockingTransport(Access(server.url, ClientTls(identities.trust))).request(LIST)
        named = BlockingTransport(Access(server.url, ClientTls(identities.trust, server_name="kubernetes.internal")))
        assert named.request(LIST).status == 200
        named.close()


class TestProxy:
    def test_tls_goes_through_a_tunnel(self, server: Peer, identities: Identities) -> None:
        proxy = Proxy(user="me:pass")
        address = proxy.url.replace("http://", "http://me:pass@")
        transport = BlockingTransport(Access(server.url, ClientTls(identities.trust), address))
        try:
            assert transport.request(LIST).status == 200
        finally:
            transport.close()
            proxy.close()
        assert [line.split()[0] for line in proxy.asked] == ["CONNECT"]

    def test_plain_requests_are_forwarded(self) -> None:
        proxy = Proxy(user="me:pass")
        with peer() as plain:
            transport = BlockingTransport(Access(plain.url, proxy=proxy.url.replace("//", "//me:pass@")))
            try:
                assert told(transport)["path"] == f"{plain.url}/api/v1/pods"
            finally:
                transport.close()
                proxy.close()

    def test_a_proxy_behind_tls_is_refused_clearly(self, server: Peer) -> None:
        with pytest.raises(ConfigError, match="only http:// proxies"):
            BlockingTransport(Access(server.url, proxy="https://p")).request(LIST)


def test_the_command_line_does_not_pay_for_what_it_does_not_use() -> None:
    code = (
        "import sys, rayward.kube.client.sync, rayward.kube.client.transport.blocking\n"
        "print([name for name in ('asyncio', 'aiohttp', 'cryptography', 'uvicorn', 'prometheus_client', 'rich')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
