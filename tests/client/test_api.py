from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import Expired, Forbidden, NotFound, TooManyRequests
from rayward.kube.client.options import PatchType
from rayward.kube.client.ratelimit import TokenBucket
from rayward.kube.client.request import Request, Response
from rayward.kube.client.watch import Bookmark, Change
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.net.errors import ConnectFailed, ConnectionLost, ProtocolError
from tests.client.recording import Answer, RecordingTransport, Stream, answer_json

pytestmark = pytest.mark.anyio

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "resourceVersion": "3"}}


class Recorded(Client):
    """A client over given answers, one per request; it notes how long it would have slept."""

    def __init__(self, *answers: Answer | Callable[[Request], Answer], **more: Any) -> None:
        given = iter(answers)

        def answer(request: Request) -> Answer:
            following = next(given)
            return following(request) if callable(following) else following

        self.sleeps: list[float] = []
        self.recording = RecordingTransport(answer)
        super().__init__(self.recording, sleep=self._note, chance=lambda: 0.5, **more)

    async def _note(self, seconds: float) -> None:
        self.sleeps.append(seconds)

    @property
    def sent(self) -> list[str]:
        return [str(request) for request in self.recording.requests]


def refusal(code: int, reason: str, **headers: str) -> Response:
    return answer_json(code, {"kind": "Status", "code": code, "reason": reason, "message": "no"}, **headers)


async def test_answers_come_as_dictionaries_slim_objects_or_bytes() -> None:
    client = Recorded(*[answer_json(200, POD)] * 3)
    request = verbs.get(PODS, "p", "a")
    assert await client.get(PODS, "p", "a") == POD
    assert (await client.send_as(request, Pod)).metadata.resource_version == "3"
    assert orjson.loads((await client.answer(request)).body) == POD


async def test_a_refusal_is_an_error_of_its_kind() -> None:
    client = Recorded(refusal(404, "NotFound"), refusal(403, "Forbidden"))
    with pytest.raises(NotFound, match="no"):
        await client.get(PODS, "p", "a")
    with pytest.raises(Forbidden):
        await client.delete(PODS, "p", "a")
    assert client.sleeps == []


async def test_an_answer_that_is_no_object() -> None:
    with pytest.raises(ProtocolError):
        await Recorded(Response(200, {}, b"<html>")).get(PODS, "p", "a")


async def test_what_may_be_sent_again_is() -> None:
    client = Recorded(
        ConnectFailed("x"), refusal(503, "ServiceUnavailable"), ConnectionLost("x"), answer_json(200, POD)
    )
    assert await client.get(PODS, "p", "a") == POD
    assert client.sleeps == [0.1, 0.2, 0.4]


async def test_a_write_that_may_have_happened_is_not() -> None:
    client = Recorded(ConnectionLost("x"))
    with pytest.raises(ConnectionLost):
        await client.create(PODS, POD)
    assert len(client.sent) == 1


async def test_a_server_that_asks_to_wait() -> None:
    client = Recorded(refusal(429, "TooManyRequests", retry_after="7"), answer_json(201, POD))
    assert await client.create(PODS, POD) == POD
    assert client.sleeps == [7.0]


async def test_giving_up_raises_the_last_refusal() -> None:
    client = Recorded(*[refusal(429, "TooManyRequests")] * 6)
    with pytest.raises(TooManyRequests):
        await client.create(PODS, POD)
    assert len(client.sent) == 6


async def test_one_attempt_only() -> None:
    client = Recorded(refusal(503, "ServiceUnavailable"))
    with pytest.raises(Exception, match="no"):
        await client.attempt(verbs.list_(PODS))


async def test_a_limit_spaces_requests_out() -> None:
    client = Recorded(*[answer_json(200, POD)] * 4, limit=TokenBucket(2.0, 2), now=lambda: 0.0)
    for _ in range(4):
        await client.get(PODS, "p", "a")
    assert client.sleeps == [0.5, 1.0]


async def test_requests_are_observed_with_their_codes() -> None:
    seen: list[tuple[str, int]] = []
    client = Recorded(
        refusal(503, "ServiceUnavailable"),
        answer_json(200, POD),
        Stream([]),
        observe=lambda request, status: seen.append((request.method, status)),
    )
    await client.get(PODS, "p", "a")
    async with client.stream(verbs.watch(PODS)):
        pass
    assert seen == [("GET", 503), ("GET", 200), ("GET", 200)]


def page(names: str, version: int, token: str = "") -> Response:
    metadata = {"resourceVersion": str(version), "continue": token}
    return answer_json(
        200, {"kind": "PodList", "metadata": metadata, "items": [{"metadata": {"name": n}} for n in names]}
    )


class TestList:
    async def test_all_pages_are_read(self) -> None:
        client = Recorded(page("ab", 7, "t1"), page("cd", 7, "t2"), page("e", 7))
        found = await client.list(PODS, "a", limit=2, label_selector="x")
        assert [item["metadata"]["name"] for item in found.items] == list("abcde")
        assert found.resource_version == "7"
        assert client.sent == [
            "GET /api/v1/namespaces/a/pods?limit=2&labelSelector=x",
            "GET /api/v1/namespaces/a/pods?limit=2&labelSelector=x&continue=t1",
            "GET /api/v1/namespaces/a/pods?limit=2&labelSelector=x&continue=t2",
        ]

    async def test_pages_that_expired_are_read_again_in_one_go(self) -> None:
        client = Recorded(page("ab", 7, "t1"), refusal(410, "Expired"), page("bcd", 9))
        found = await client.list(PODS)
        assert [item["metadata"]["name"] for item in found.items] == list("bcd")
        assert client.sent[0].endswith("?limit=500")
        assert client.sent[-1].endswith("?limit=0")

    async def test_a_version_that_expired_is_the_callers_matter(self) -> None:
        with pytest.raises(Expired):
            await Recorded(refusal(410, "Expired")).list(PODS, resource_version="1")


class TestWatch:
    async def test_events_come_in_order(self) -> None:
        lines = b"".join(
            orjson.dumps({"type": kind, "object": {"metadata": {"name": "p", "resourceVersion": str(version)}}}) + b"\n"
            for version, kind in enumerate(["ADDED", "MODIFIED", "BOOKMARK", "DELETED"], 4)
        )
        client = Recorded(Stream([lines[:30], lines[30:200], lines[200:]]))
        async with client.watch(PODS, KubeObject, "a", resource_version="3") as events:
            found = [event async for event in events]
        assert [event.type for event in found if isinstance(event, Change)] == ["ADDED", "MODIFIED", "DELETED"]
        assert isinstance(found[2], Bookmark)

    async def test_a_refusal_before_the_first_event(self) -> None:
        client = Recorded(refusal(410, "Expired"))
        with pytest.raises(Expired):
            async with client.watch(PODS, KubeObject, resource_version="1"):
                pass

    async def test_a_lost_connection(self) -> None:
        client = Recorded(Stream([b'{"type":"BOOKMARK",', ConnectionLost("cut")]))
        async with client.watch(PODS, KubeObject) as events:
            with pytest.raises(ConnectionLost):
                _ = [event async for event in events]


async def test_every_verb_sends_its_request() -> None:
    client = Recorded(*[answer_json(200, POD)] * 10)
    await client.update(PODS, POD, subresource="status")
    await client.patch(PODS, "p", {}, PatchType.STRATEGIC, "a", field_manager="me")
    await client.apply(PODS, POD, field_manager="me")
    await client.delete(PODS, "p", "a", grace_period_seconds=0)
    await client.delete_collection(PODS, "a")
    await client.scale(PODS, "p", 2, "a")
    await client.evict("p", "a", grace_period_seconds=1)
    await client.bind("p", "a", "n")
    await client.token("s", "a", {"expirationSeconds": 600})
    await client.create(PODS, POD, dry_run=True)
    root = "/api/v1/namespaces/a/pods"
    assert client.sent == [
        f"PUT {root}/p/status",
        f"PATCH {root}/p?fieldManager=me",
        f"PATCH {root}/p?fieldManager=me&force=false",
        f"DELETE {root}/p",
        f"DELETE {root}",
        f"PATCH {root}/p/scale",
        f"POST {root}/p/eviction",
        f"POST {root}/p/binding",
        "POST /api/v1/namespaces/a/serviceaccounts/s/token",
        f"POST {root}?dryRun=All",
    ]
    bodies = [orjson.loads(request.body) for request in client.recording.requests if request.body]
    assert {"gracePeriodSeconds": 1} in [body.get("deleteOptions") for body in bodies]
    assert {"apiVersion": "v1", "kind": "Node", "name": "n"} in [body.get("target") for body in bodies]
