from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.retry import RetryPolicy
from rayward.kube.core.objects import KubeObject, ObjectMeta
from rayward.kube.core.resource import NODES, Resource
from rayward.kube.runtime.events import EventFilter, EventRecorder, reference
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError
from tests.client.recording import Answer, RecordingTransport, answer_json
from tests.runtime.simulated import status
from tests.runtime.virtual import VirtualClock, run

CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")
DEMO = reference(CLUSTERS, KubeObject(ObjectMeta(name="demo", namespace="team", uid="u", resource_version="7")))


class Process:
    """A recorder, and the Events that the server has of it."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.lose_answers = False
        self.refusals: deque[Response | NetworkError] = deque()
        self.transport = RecordingTransport(self._answer)
        numbers = iter(range(1, 10_000))
        self.recorder = EventRecorder(
            Client(self.transport, retry=RetryPolicy(attempts=1)),
            "rayward-operator",
            instance="pod-1",
            clock=VirtualClock(),
            chance=lambda: 0.5,
            unique=lambda: next(numbers),
        )
        self.task = asyncio.ensure_future(self.recorder.run())

    def _answer(self, request: Request) -> Answer:
        if self.refusals:
            return self.refusals.popleft()
        body = orjson.loads(request.body or b"{}")
        name = request.target.rpartition("/")[2]
        if request.method == "POST":
            if body["metadata"]["name"] in self.events:
                return answer_json(409, status(409, "AlreadyExists"))
            self.events[body["metadata"]["name"]] = body
            lost = self.lose_answers
            return ConnectionLost("the answer was lost") if lost else answer_json(201, body)
        if name not in self.events:
            return answer_json(404, status(404, "NotFound"))
        self.events[name].update(body)
        return answer_json(200, self.events[name])

    def tell(self, message: str = "it works", reason: str = "Created") -> None:
        self.recorder.record(DEMO, "Normal", reason, message)

    async def settle(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)

    @property
    def counts(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.events.values()]


def recorded(test: Callable[[Process], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def scenario() -> None:
        process = Process()
        await test(process)
        process.task.cancel()

    def wrapped() -> None:
        run(scenario())

    wrapped.__name__ = test.__name__
    return wrapped


@recorded
async def test_an_event_as_kubectl_describe_reads_it(process: Process) -> None:
    process.recorder.record(DEMO, "Warning", "Failed", "no room")
    await process.settle()
    assert process.events == {
        "demo.1": {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "demo.1", "namespace": "team"},
            "involvedObject": {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "namespace": "team",
                "name": "demo",
                "uid": "u",
                "resourceVersion": "7",
            },
            "type": "Warning",
            "reason": "Failed",
            "message": "no room",
            "source": {"component": "rayward-operator", "host": "pod-1"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "count": 1,
            "reportingComponent": "rayward-operator",
            "reportingInstance": "pod-1",
        }
    }
    assert process.transport.requests[0].target == "/api/v1/namespaces/team/events"


@recorded
async def test_repetitions_are_counted_in_one_event(process: Process) -> None:
    process.tell()
    await process.settle(10)
    process.tell()
    await process.settle(10)
    process.tell("something else")
    await process.settle()
    assert process.counts == [("it works", 2), ("something else", 1)]
    event = process.events["demo.1"]
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z")
    assert [request.method for request in process.transport.requests] == ["POST", "PATCH", "POST"]


@recorded
async def test_what_piles_up_before_it_is_written_costs_one_request(process: Process) -> None:
    for _ in range(5):
        process.tell()
    await process.settle()
    assert process.counts == [("it works", 5)]
    assert len(process.transport.requests) == 1


@recorded
async def test_similar_ones_end_in_one_event_whose_words_change(process: Process) -> None:
    for number in range(12):
        process.tell(f"pod {number}")
        await process.settle()
    assert len(process.events) == 10
    assert process.counts[-1] == ("(combined from similar events): pod 11", 3)


@recorded
async def test_an_event_that_the_server_forgot_is_made_again(process: Process) -> None:
    process.tell()
    await process.settle()
    process.events.clear()
    process.tell()
    await process.settle()
    assert process.counts == [("it works", 1)]


@recorded
async def test_a_refused_event_is_dropped(process: Process) -> None:
    process.refusals.append(answer_json(403, status(403, "Forbidden", "namespace is being terminated")))
    process.tell()
    await process.settle(100)
    assert process.events == {}
    assert process.recorder.dropped == 1
    assert process.recorder.idle


@recorded
async def test_a_lost_connection_only_delays(process: Process) -> None:
    process.refusals.extend([ConnectFailed("x")] * 4)
    process.tell()
    await process.settle(0.06)
    process.tell()
    await process.settle(10)
    assert process.counts == [("it works", 2)]
    assert process.events["demo.1"]["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert process.recorder.dropped == 0


@recorded
async def test_a_lost_answer_does_not_double_the_event(process: Process) -> None:
    process.lose_answers = True
    process.tell()
    await process.settle(0.01)
    process.lose_answers = False
    process.tell()
    await process.settle()
    process.tell()
    await process.settle()
    assert process.counts == [("it works", 3)]


@recorded
async def test_spam_is_dropped_and_counted(process: Process) -> None:
    for _ in range(40):
        process.tell()
    await process.settle()
    assert process.counts == [("it works", 25)]
    assert process.recorder.dropped == 15


@recorded
async def test_events_of_cluster_wide_objects_live_in_default(process: Process) -> None:
    process.recorder.record(reference(NODES, KubeObject(ObjectMeta(name="n", uid="u"))), "Normal", "Ready", "up")
    await process.settle()
    assert process.transport.requests[0].target == "/api/v1/namespaces/default/events"


@pytest.mark.parametrize(
    ("message", "sent"),
    [("x" * 1024, "x" * 1024), ("x" * 1025, "x" * 1021 + "..."), ("ä" * 1000, "ä" * 510 + "...")],
    ids=["fits", "too long", "too long, not cut inside of a letter"],
)
def test_long_messages_are_shortened_to_what_servers_accept(message: str, sent: str) -> None:
    async def scenario() -> None:
        process = Process()
        process.tell(message)
        await process.settle()
        assert process.counts == [(sent, 1)]
        process.task.cancel()

    run(scenario())


def test_every_event_is_in_the_log_though_it_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        process = Process()
        with caplog.at_level("INFO", logger="rayward.kube.runtime.events"):
            for _ in range(40):
                process.recorder.record(DEMO, "Warning", "Failed", "the same again")
        assert process.recorder.dropped == 15
        process.task.cancel()

    run(check())
    assert caplog.messages.count("RayCluster team/demo: Failed: the same again") == 40
    assert {record.levelname for record in caplog.records} == {"WARNING"}


@recorded
async def test_beyond_a_burst_events_are_written_at_a_pace_and_none_is_lost(process: Process) -> None:
    many = 1500
    for number in range(many):
        about = reference(CLUSTERS, KubeObject(ObjectMeta(name=f"c{number}", namespace="team", uid=f"u{number}")))
        process.recorder.record(about, "Normal", "Created", "it works")
    await process.settle(1)
    assert 1000 <= len(process.events) <= 1100
    await process.settle(60)
    assert len(process.events) == many
    assert {event["firstTimestamp"] for event in process.events.values()} == {"2026-01-01T00:00:00Z"}


@recorded
async def test_a_decision_is_written_though_as_many_wait_as_may(process: Process) -> None:
    recorder = process.recorder.of_component("rayservice-controller", {"SwitchedTraffic"})
    waiting = 5000
    for number in range(waiting):
        about = KubeObject(ObjectMeta(name=f"c{number}", namespace="team", uid=f"u{number}"))
        recorder.event(CLUSTERS, about, "Normal", "Created", "it works")
    for number in range(40):
        about = KubeObject(ObjectMeta(name="demo", namespace="team", uid="u"))
        recorder.event(CLUSTERS, about, "Normal", "SwitchedTraffic", f"to {number}")
    assert process.recorder.dropped == waiting - 4096
    # A burst and little more is written by then, and the decisions before it.
    await process.settle(10)
    assert len(process.events) < 4096
    written = [event["message"] for event in process.events.values() if event["reason"] == "SwitchedTraffic"]
    assert sorted(written) == sorted(f"to {number}" for number in range(40))


@recorded
async def test_a_decision_waits_for_a_server_that_cannot_take_it_now(process: Process) -> None:
    process.refusals.extend([answer_json(503, status(503, "ServiceUnavailable"))] * 3)
    process.recorder.record(DEMO, "Normal", "SwitchedTraffic", "to b", decision=True)
    await process.settle(10)
    assert process.counts == [("to b", 1)]
    assert process.recorder.dropped == 0


def test_what_a_reconcile_sees_every_time_is_new_once_for_a_generation() -> None:
    seen = EventFilter()
    problems = [f"group {number} has no image" for number in range(1024)]
    assert all(seen.is_new(1, "Invalid", message) for message in problems)
    assert not any(seen.is_new(1, "Invalid", message) for message in problems)
    assert seen.is_new(2, "Invalid", problems[0])


def test_one_more_than_are_remembered_costs_the_repetition_of_one() -> None:
    seen = EventFilter()
    for number in range(1025):
        assert seen.is_new(1, "Failed", f"pod {number}")
    assert not any(seen.is_new(1, "Failed", f"pod {number}") for number in range(1, 1025))
    assert seen.is_new(1, "Failed", "pod 0")
