from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from rayward.kube.client.request import Request, Response
from rayward.net.client import HttpClient, HttpResponse
from rayward.net.errors import ConnectFailed, ProtocolError, TimedOut
from rayward.operator.ray.errors import Unintelligible, Unreachable
from rayward.operator.ray.reach import Ask, DirectReach, Place, PodPort, ProxiedReach, ServicePort
from tests.client.recording import Answer, RecordingTransport, answer_json
from tests.net.peer import Peer, peer

pytestmark = pytest.mark.anyio

SERVICE = ServicePort("team", "demo-head-svc", 8265, "dashboard")
POD = PodPort("team", "demo-head-x", "10.1.2.3", 8000)


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as listening:
        yield listening


def at(server: Peer) -> PodPort:
    return PodPort("team", "demo-head-x", "127.0.0.1", int(server.url.rsplit(":", 1)[1]))


class Remembering(HttpClient):
    """A client that sends nothing."""

    urls: list[str]

    async def request(self, method: str, url: str, **more: Any) -> HttpResponse:
        self.urls = [*getattr(self, "urls", []), url]
        return HttpResponse(200, {}, b"")


@pytest.mark.parametrize(
    ("place", "url"),
    [
        pytest.param(SERVICE, "http://demo-head-svc.team.svc.example.org:8265/api/version", id="a service by its name"),
        pytest.param(POD, "http://10.1.2.3:8000/api/version", id="a pod by its address"),
        pytest.param(PodPort("a", "b", "fd00::1", 80), "http://[fd00::1]:80/api/version", id="in version 6"),
    ],
)
async def test_directly_a_place_is_found_by_name_or_address(place: Place, url: str) -> None:
    http = Remembering()
    await DirectReach(http, domain="example.org").ask(place, Ask("GET", "/api/version"))
    assert http.urls == [url]


async def test_directly_a_request_arrives_as_it_was_meant(server: Peer) -> None:
    async with HttpClient() as http:
        ask = Ask("PUT", "/echo?a=b", (("x-ray-authorization", "Bearer t"),), b"{}")
        answer = await DirectReach(http).ask(at(server), ask)
    told = orjson.loads(answer.body)
    assert (told["method"], told["path"], told["body"]) == ("PUT", "/echo?a=b", "{}")
    assert told["headers"]["x-ray-authorization"] == ["Bearer t"]
    assert told["headers"]["Content-Type"] == ["application/json"]


async def test_directly_an_answer_may_be_only_so_large(server: Peer) -> None:
    server.answers["/large"] = lambda handler: handler.reply(200, b"x" * 101)
    async with HttpClient() as http:
        with pytest.raises(Unintelligible, match="larger than 100"):
            await DirectReach(http).ask(at(server), Ask("GET", "/large", max_body=100))


async def test_directly_nobody_there_is_unreachable(server: Peer) -> None:
    async with HttpClient() as http:
        with pytest.raises(Unreachable, match="pod team/demo-head-x port 1"):
            await DirectReach(http).ask(PodPort("team", "demo-head-x", "127.0.0.1", 1), Ask("GET", "/"))


async def test_directly_silence_is_unreachable(server: Peer) -> None:
    server.answers["/silent"] = server.silence
    async with HttpClient() as http:
        with pytest.raises(Unreachable, match="no answer in time"):
            await DirectReach(http).ask(at(server), Ask("GET", "/silent", seconds=0.1))


@pytest.mark.parametrize(
    ("place", "target"),
    [
        pytest.param(SERVICE, "/api/v1/namespaces/team/services/demo-head-svc:dashboard/proxy/x?y=z", id="a service"),
        pytest.param(POD, "/api/v1/namespaces/team/pods/demo-head-x:8000/proxy/x?y=z", id="a pod"),
    ],
)
async def test_through_the_api_server_a_place_is_a_proxy_subresource(place: Place, target: str) -> None:
    transport = RecordingTransport(lambda _: Response(200, {}, b"fine"))
    ask = Ask("PUT", "/x?y=z", (("x-ray-authorization", "Bearer t"),), b"{}", seconds=7.0, max_body=99)
    answer = await ProxiedReach(transport).ask(place, ask)
    assert (answer.status, answer.body) == (200, b"fine")
    (sent,) = transport.requests
    assert sent == Request(
        "PUT",
        target,
        b"{}",
        accept="*/*",
        seconds=7.0,
        headers=(("x-ray-authorization", "Bearer t"),),
        max_body=99,
    )


def _status(code: int, reason: str, message: str) -> Response:
    return answer_json(code, {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message})


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        pytest.param(
            _status(503, "ServiceUnavailable", "no endpoints available"), Unreachable, "no endpoints", id="no pod"
        ),
        pytest.param(_status(404, "NotFound", 'services "x" not found'), Unreachable, "not found", id="no service"),
        pytest.param(_status(403, "Forbidden", "cannot get services/proxy"), Unreachable, "cannot get", id="no right"),
        pytest.param(ConnectFailed("refused"), Unreachable, "refused", id="no API server"),
        pytest.param(TimedOut("late"), Unreachable, "late", id="too late"),
        pytest.param(ProtocolError("too large"), Unintelligible, "too large", id="too large"),
    ],
)
async def test_the_api_server_itself_may_be_in_the_way(answer: Answer, error: type[Exception], says: str) -> None:
    reach = ProxiedReach(RecordingTransport(lambda _: answer))
    with pytest.raises(error, match=says):
        await reach.ask(SERVICE, Ask("GET", "/"))


@pytest.mark.parametrize(
    "answer",
    [
        Response(403, {}, b"Forbidden: Invalid authentication token"),
        Response(503, {}, b"Failed to get a response from the controller."),
        Response(404, {}, b'{"kind": "Status"}'),
        Response(200, {}, orjson.dumps({"kind": "Status", "apiVersion": "v1"})),
    ],
    ids=["refused by Ray", "Ray not ready", "looks like a Status", "says it is a Status but is well"],
)
async def test_what_the_place_itself_answers_is_passed_on(answer: Response) -> None:
    found = await ProxiedReach(RecordingTransport(lambda _: answer)).ask(SERVICE, Ask("GET", "/"))
    assert (found.status, found.body) == (answer.status, answer.body)
