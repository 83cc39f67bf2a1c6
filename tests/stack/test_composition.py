"""Settings of the operator that cannot work are refused with what to run instead."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds.admission import Admission, Queueing
from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.shield import DRAIN_SECONDS
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings
from rayward.operator.ray.reach import NoReach
from rayward.stack.composition import check_settings, composed
from tests.client.recording import RecordingTransport


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (Settings(queueing=Queueing(Admission.KUEUE), namespaces=("team",)), "--watch-namespace"),
        (Settings(queueing=Queueing(Admission.KUEUE, default_queue="q")), "--default-queue"),
        (Settings(queueing=Queueing(Admission.EMBEDDED, kueue_takes_unlabelled=True)), "--kueue-takes-unlabelled"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: Settings, what: str) -> None:
    with pytest.raises(OperatorError) as error:
        check_settings(settings)
    assert what in error.value.what
    assert error.value.following.startswith("rayward operator run")


def test_kueue_may_take_objects_without_its_label() -> None:
    check_settings(Settings(queueing=Queueing(Admission.KUEUE, kueue_takes_unlabelled=True)))


def _unasked(request: Request) -> Response:
    raise AssertionError(f"nothing is asked before it runs: {request}")


@pytest.mark.anyio
async def test_no_part_of_the_process_drains_longer_than_a_leader_has() -> None:
    compose = composed(Queueing(Admission.EMBEDDED), machine_queue="default")
    client = Client(RecordingTransport(_unasked))
    manager = Manager(
        client,
        compose(NoReach()),
        recorder=EventRecorder(client, "rayward-operator"),
        metrics=Metrics(CollectorRegistry()),
        workers=1,
    )
    assert "quota" in manager.controllers
    drains: dict[str, Any] = {
        name: inspect.signature(each.drain).parameters["seconds"].default for name, each in manager.controllers.items()
    }
    assert {name: seconds for name, seconds in drains.items() if seconds > DRAIN_SECONDS} == {}
