from __future__ import annotations

import orjson
import pytest

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.net.client import HttpClient
from rayward.operator.ray.dashboard import Dashboard, readable
from rayward.operator.ray.errors import (
    Failed,
    RayError,
    Refused,
    Unauthorized,
    Unintelligible,
    Unreachable,
    WrongSession,
)
from rayward.operator.ray.reach import Answer, Ask, DirectReach, Place, PodPort, ServicePort
from tests.operator.ray.behaviour import Timings
from tests.operator.ray.simulated import SimulatedHead, SimulatedReach, listening

pytestmark = pytest.mark.anyio

PLACE = ServicePort("team", "demo-head-svc", 8265, "dashboard")
AT_ONCE = Timings(serve_start=0.0, put=0.0, get=0.0, shutdown=0.0)
CONFIG = orjson.dumps({"applications": [{"name": "a", "import_path": "m:a"}]})


class Saying:
    """A place that always answers the same."""

    def __init__(self, status: int, body: bytes = b"") -> None:
        self._answer = Answer(status, body)
        self.asked: list[Ask] = []

    async def ask(self, place: Place, ask: Ask) -> Answer:
        self.asked.append(ask)
        return self._answer


async def test_over_real_http_a_head_is_asked_with_its_token() -> None:
    head = SimulatedHead(SYSTEM_CLOCK.now, token="secret", timings=AT_ONCE)
    async with listening(head) as port, HttpClient() as http:
        place = PodPort("team", "demo-head", "127.0.0.1", port)
        dashboard = Dashboard(DirectReach(http), place, token="secret")
        assert (await dashboard.version()).session_name == head.session
        assert (await dashboard.serve()).applications == {}
        await dashboard.deploy(CONFIG)
        assert (await dashboard.serve()).applications["a"].status == "DEPLOYING"
        assert [node.state for node in await dashboard.nodes()] == ["ALIVE"]
        with pytest.raises(Unauthorized, match="Missing authentication token"):
            await Dashboard(DirectReach(http), place).version()
        with pytest.raises(Unauthorized, match="Invalid authentication token"):
            await Dashboard(DirectReach(http), place, token="old").serve()


async def test_another_session_is_not_the_head_that_was_meant() -> None:
    reach = SimulatedReach()
    place = reach.add(SimulatedHead(SYSTEM_CLOCK.now, timings=AT_ONCE))
    session = (await Dashboard(reach, place).version()).session_name
    assert (await Dashboard(reach, place).version(session)).session_name == session
    with pytest.raises(WrongSession, match=f"{session} answers there, not session_of_another"):
        await Dashboard(reach, place).version("session_of_another")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (301, Unintelligible),
        (400, Refused),
        (401, Unauthorized),
        (403, Unauthorized),
        (404, Unintelligible),
        (405, Unintelligible),
        (413, Refused),
        (422, Refused),
        (500, Failed),
        (501, Failed),
        (502, Unreachable),
        (503, Unreachable),
        (504, Unreachable),
    ],
)
async def test_what_an_answer_to_a_configuration_means(status: int, error: type[RayError]) -> None:
    with pytest.raises(error, match="the words of Ray" if status != 301 else "301"):
        await Dashboard(Saying(status, b"the words of Ray"), PLACE).deploy(CONFIG)


async def test_a_question_that_ray_does_not_know_is_not_the_users_mistake() -> None:
    with pytest.raises(Unintelligible, match="/api/serve/applications/"):
        await Dashboard(Saying(404, b"404: Not Found"), PLACE).serve()


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"applications": 1}', b"\xff", b"[" * 100_000, b'{"applications": {"a": {"status": 1}}}'],
    ids=["nothing", "a page", "a list", "a number", "no text", "too deep", "no status"],
)
async def test_what_is_no_answer_of_ray_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(Unintelligible, match="demo-head-svc"):
        await Dashboard(Saying(200, body), PLACE).serve()


async def test_ray_may_fail_to_list_its_nodes() -> None:
    with pytest.raises(Failed, match="the GCS is away"):
        await Dashboard(Saying(200, b'{"result": false, "msg": "the GCS is away"}'), PLACE).nodes()


async def test_a_first_configuration_may_take_long() -> None:
    place = Saying(200)
    await Dashboard(place, PLACE, seconds=3.0).deploy(CONFIG)
    assert place.asked[0].seconds == 90.0


def test_of_a_long_refusal_the_end_is_kept() -> None:
    text = readable(b"x" * 10_000 + b"the cause\n")
    assert text.startswith("... x")
    assert text.endswith("the cause")
    assert len(text) < 5000
