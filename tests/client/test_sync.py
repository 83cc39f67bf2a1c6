"""The waiting client against a real socket; what it decides is tested with the asynchronous one."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator

import pytest

from rayward.kube.client import verbs
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import Expired, NotFound
from rayward.kube.client.sync import SyncClient
from rayward.kube.client.transport.blocking import BlockingTransport
from rayward.kube.client.watch import Change
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS
from tests.net.peer import Handler, Once, Peer, peer

ROOT = "/api/v1/namespaces/a/pods"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "resourceVersion": "3"}}


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as listening:
        yield listening


@pytest.fixture
def client(server: Peer) -> Iterator[SyncClient]:
    sleeps: list[float] = []
    with SyncClient(BlockingTransport(Access(server.url)), sleep=sleeps.append) as made:
        yield made


def status(code: int, reason: str) -> bytes:
    return json.dumps({"kind": "Status", "code": code, "reason": reason, "message": "no"}).encode()


def test_an_object_is_read(client: SyncClient, server: Peer) -> None:
    server.answers[f"{ROOT}/p"] = lambda handler: handler.reply(200, json.dumps(POD).encode())
    assert client.get(PODS, "p", "a") == POD
    assert client.send_as(verbs.get(PODS, "p", "a"), KubeObject).metadata.resource_version == "3"


def test_refusals_are_errors_for_objects_and_streams(client: SyncClient, server: Peer) -> None:
    server.answers[f"{ROOT}/p"] = lambda handler: handler.reply(404, status(404, "NotFound"))
    with pytest.raises(NotFound):
        client.get(PODS, "p", "a")
    with pytest.raises(NotFound), client.stream(verbs.get(PODS, "p", "a")):
        pass


def test_what_may_be_sent_again_is(client: SyncClient, server: Peer) -> None:
    server.answers[f"{ROOT}/p"] = Once(
        lambda handler: handler.reply(503, status(503, "ServiceUnavailable")),
        lambda handler: handler.reply(200, json.dumps(POD).encode()),
    )
    assert client.get(PODS, "p", "a") == POD


def test_a_list_is_read_in_pages_and_again_when_they_expire(client: SyncClient, server: Peer) -> None:
    def pages(handler: Handler) -> None:
        if "continue=" in handler.path:
            handler.reply(410, status(410, "Expired"))
            return
        metadata = {"resourceVersion": "7", "continue": "t" if "limit=500" in handler.path else ""}
        items = [{"metadata": {"name": "a"}}]
        handler.reply(200, json.dumps({"kind": "PodList", "metadata": metadata, "items": items}).encode())

    server.answers[ROOT] = pages
    found = client.list(PODS, "a")
    assert [item["kind"] for item in found.items] == ["Pod"]
    assert [path.partition("?")[2] for path in server.seen] == ["limit=500", "limit=500&continue=t", "limit=0"]


def test_a_version_that_expired_is_the_callers_matter(client: SyncClient, server: Peer) -> None:
    server.answers[ROOT] = lambda handler: handler.reply(410, status(410, "Expired"))
    with pytest.raises(Expired):
        client.list(PODS, "a", resource_version="1")


def test_a_watch(client: SyncClient, server: Peer) -> None:
    line = json.dumps({"type": "ADDED", "object": POD}).encode() + b"\n"
    server.answers[ROOT] = lambda handler: handler.chunks(line[:10], line[10:], line)
    with client.watch(PODS, KubeObject, "a", resource_version="1") as events:
        found = [event.object.metadata.name for event in events if isinstance(event, Change)]
    assert found == ["p", "p"]


def test_it_has_the_verbs_of_the_asynchronous_client() -> None:
    only_asynchronous = {"attempt", "bind"}
    verbs_of_both = {name for name in vars(Client) if not name.startswith("_")} - only_asynchronous
    for name in verbs_of_both - {"connect", "close", "stream", "watch"}:
        theirs, ours = inspect.signature(getattr(Client, name)), inspect.signature(getattr(SyncClient, name))
        assert ours.parameters.keys() == theirs.parameters.keys(), name
