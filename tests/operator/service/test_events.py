from __future__ import annotations

from rayward.kinds.rayservice import RayService
from rayward.kube.client.api import Client
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.runtime.events import EventFilter, EventRecorder
from rayward.operator.service.events import DECISIONS, ServiceEvents
from tests.client.recording import RecordingTransport, answer_json


class Recorded(EventRecorder):
    """Keeps what is recorded instead of writing it."""

    def __init__(self) -> None:
        super().__init__(Client(RecordingTransport(lambda request: answer_json(404, {}))), "test")
        self.said: list[tuple[str, str, bool]] = []

    def record(
        self,
        about: object,
        kind: object,
        reason: str,
        message: str,
        component: str | None = None,
        *,
        decision: bool = False,
    ) -> None:
        """Note it."""
        self.said.append((reason, message, decision))


def events_of(recorder: EventRecorder) -> ServiceEvents:
    service = RayService(metadata=ObjectMeta(name="shop", namespace="team", uid="u", generation=3))
    return ServiceEvents(recorder.of_component("rayservice-controller", DECISIONS), service, EventFilter())


def test_traffic_that_goes_back_within_a_generation_is_told_each_time() -> None:
    recorder = Recorded()
    events = events_of(recorder)
    for name in ("a", "b", "a"):
        events.event("Normal", "SwitchedTraffic", f"Switched traffic to RayCluster {name}")
    assert [message.rpartition(" ")[2] for _, message, _ in recorder.said] == ["a", "b", "a"]
    assert all(decision for _, _, decision in recorder.said)


def test_a_failure_that_lasts_is_told_once_for_a_generation() -> None:
    recorder = Recorded()
    events = events_of(recorder)
    for _ in range(3):
        events.event("Warning", "ServeDeployFailed", "No module named 'shop'")
    assert recorder.said == [("ServeDeployFailed", "No module named 'shop'", True)]


def test_every_end_of_an_upgrade_is_a_decision_and_a_warning_about_the_spec_is_none() -> None:
    recorder = Recorded()
    events = events_of(recorder)
    for number in range(40):
        events.event("Warning", "ReplicasUnschedulable", f"{number} replicas")
        events.event("Warning", "UnexpectedRayServiceSpec", f"field {number}")
    assert [decision for _, _, decision in recorder.said] == [True, False] * 40
