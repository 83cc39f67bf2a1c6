from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.client import verbs
from rayward.kube.client.access import Access
from rayward.kube.client.credentials import ConfigError, Credential, FileCredentials, StaticCredentials
from rayward.kube.client.request import Request
from rayward.kube.client.transport.aio import AioTransport
from rayward.kube.core.resource import PODS
from rayward.net.certificates import issue_client
from rayward.net.errors import ProtocolError, TimedOut
from rayward.net.tls import ClientTls
from tests.client.tokens import RotatingCredentials, demand_token
from tests.net.peer import Handler, Identities, Peer, peer

pytestmark = pytest.mark.anyio


@pytest.fixture
def identities(tmp_path: Path) -> Identities:
    return Identities(tmp_path)


@pytest.fixture
def server(identities: Identities) -> Iterator[Peer]:
    with peer(identities.server_context()) as listening:
        yield listening


async def told(transport: AioTransport, request: Request) -> dict[str, object]:
    try:
        return json.loads((await transport.request(request)).body)
    finally:
        await transport.close()


async def test_what_the_server_sees(server: Peer, identities: Identities) -> None:
    certificate = Credential("t", identities.client.certificate.decode(), identities.client.key.decode())
    access = Access(
        server.url + "/prefix",
        ClientTls(identities.trust),
        credentials=StaticCredentials(certificate),
        headers=(("Impersonate-User", "bob"),),
    )
    request = verbs.create(PODS, {"metadata": {"namespace": "a"}})
    seen = await told(AioTransport(access, user_agent="test"), request)
    assert seen["path"] == "/prefix/api/v1/namespaces/a/pods"
    assert seen["client"] == "alice"
    assert seen["body"] == '{"metadata":{"namespace":"a"}}'
    headers = seen["headers"]
    assert isinstance(headers, dict)
    del headers["Host"]
    assert headers == {
        "Accept": ["application/json"],
        "Accept-Encoding": ["identity"],
        "Authorization": ["Bearer t"],
        "Content-Length": ["30"],
        "Content-Type": ["application/json"],
        "Impersonate-User": ["bob"],
        "User-Agent": ["test"],
    }


async def test_who_is_behind_the_server_sees_the_headers_of_the_request(server: Peer, identities: Identities) -> None:
    request = Request("GET", "/echo", headers=(("X-Ray-Authorization", "Bearer r"),))
    seen = await told(AioTransport(Access(server.url, ClientTls(identities.trust))), request)
    headers = seen["headers"]
    assert isinstance(headers, dict)
    assert headers["X-Ray-Authorization"] == ["Bearer r"]


async def test_an_answer_may_be_only_so_large(server: Peer, identities: Identities) -> None:
    server.answers["/large"] = lambda handler: handler.reply(200, b"x" * 1000)
    transport = AioTransport(Access(server.url, ClientTls(identities.trust)))
    assert len((await transport.request(Request("GET", "/large", max_body=1000))).body) == 1000
    with pytest.raises(ProtocolError, match="larger than 999"):
        await transport.request(Request("GET", "/large", max_body=999))
    await transport.close()


async def test_an_expired_token_is_replaced_without_the_caller_noticing(server: Peer, identities: Identities) -> None:
    server.answers["/api/v1/pods"] = demand_token("two")
    credentials = RotatingCredentials(["one", "two"])
    transport = AioTransport(Access(server.url, ClientTls(identities.trust), credentials=credentials))
    response = await transport.request(verbs.list_(PODS))
    async with transport.stream(verbs.list_(PODS)) as stream:
        assert stream.status == 200
    await transport.close()
    assert response.status == 200
    assert credentials.loads == 2
    assert len(server.seen) == 3


async def test_streams_replace_tokens_too(server: Peer, identities: Identities) -> None:
    server.answers["/api/v1/pods"] = demand_token("two")
    transport = AioTransport(
        Access(server.url, ClientTls(identities.trust), credentials=RotatingCredentials(["one", "two"]))
    )
    async with transport.stream(verbs.list_(PODS)) as stream:
        assert stream.status == 200
        assert b"".join([part async for part in stream]) == b"{}"
    await transport.close()


async def test_a_refusal_that_stays_is_an_answer(server: Peer, identities: Identities) -> None:
    server.answers["/api/v1/pods"] = demand_token("never")
    transport = AioTransport(
        Access(server.url, ClientTls(identities.trust), credentials=StaticCredentials(Credential("t")))
    )
    assert (await transport.request(verbs.list_(PODS))).status == 401
    await transport.close()
    assert len(server.seen) == 1


async def test_one_load_serves_all_who_wait(server: Peer, identities: Identities) -> None:
    credentials = RotatingCredentials(["one"])
    transport = AioTransport(Access(server.url, ClientTls(identities.trust), credentials=credentials))
    await asyncio.gather(*(transport.request(verbs.list_(PODS)) for _ in range(10)))
    await transport.close()
    assert credentials.loads == 1


async def test_a_rotated_certificate_is_shown_on_new_connections(
    server: Peer, identities: Identities, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "crt", tmp_path / "key"
    credentials = FileCredentials(certificate_file=certificate, key_file=key)
    transport = AioTransport(Access(server.url, ClientTls(identities.trust), credentials=credentials))
    certificate.write_bytes(identities.client.certificate)
    key.write_bytes(identities.client.key)
    first = json.loads((await transport.request(verbs.list_(PODS))).body)
    again = json.loads((await transport.request(verbs.list_(PODS))).body)
    assert first["client"] == again["client"] == "alice"
    assert first["connection"] == again["connection"]
    renewed = issue_client(identities.authority, "alice2")
    certificate.write_bytes(renewed.certificate)
    key.write_bytes(renewed.key)
    third = json.loads((await transport.request(verbs.list_(PODS))).body)
    await transport.close()
    assert third["client"] == "alice2"


async def test_a_certificate_that_is_none(server: Peer) -> None:
    credentials = StaticCredentials(Credential(None, "nonsense", "nonsense"))
    transport = AioTransport(Access(server.url, credentials=credentials))
    with pytest.raises(ConfigError, match="client certificate and key are not usable"):
        await transport.request(verbs.list_(PODS))


async def test_silence_of_a_stream_is_bounded_by_its_request(server: Peer, identities: Identities) -> None:
    def start_and_stop(handler: Handler) -> None:
        handler.chunks(b"one\n", end=False)
        server.silence(handler)

    server.answers["/api/v1/pods"] = start_and_stop
    transport = AioTransport(Access(server.url, ClientTls(identities.trust)))
    async with transport.stream(verbs.watch(PODS, silence_seconds=0.2)) as stream:
        with pytest.raises(TimedOut):
            _ = [part async for part in stream]
    await transport.close()
