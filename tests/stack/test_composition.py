"""Settings of the operator that cannot work are refused with what to run instead."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Any, Final

import click
import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds.admission import Admission, Queueing
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, WORKLOAD_PRIORITY_CLASSES
from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.kube.runtime.events import ComponentRecorder, EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.registry import Environment, Informers, Source
from rayward.kube.runtime.shield import DRAIN_SECONDS
from rayward.operator.arguments import flags as flags_of_operator
from rayward.operator.arguments import settings_of
from rayward.operator.cluster.observe import RAY_PODS
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings
from rayward.operator.ray.reach import NoReach
from rayward.quota.engine import EngineReconciler, EngineSettings, PodsReady
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.fair import FairPreemptor
from rayward.quota.engine.preempt import Preemptor
from rayward.quota.gate.observe import SUBMITTER_PODS
from rayward.stack.composition import check_alone, check_settings, composed, engine_settings_of
from tests.client.recording import RecordingTransport, answer_json


class Declared(Informers):
    """Notes what is to be watched."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, None, SYSTEM_CLOCK)
        self.sources: set[Source[Any]] = set()

    def cache(self, source: Source[Any]) -> Cache[Any]:
        self.sources.add(source)
        return super().cache(source)


def test_what_operator_and_quota_both_read_is_watched_and_kept_once() -> None:
    client = Client(RecordingTransport(lambda _: answer_json(404, {})))
    informers = Declared(client)
    recorder = ComponentRecorder(EventRecorder(client, "test"), "test")
    environment = Environment(client, informers, recorder, SYSTEM_CLOCK, workers=1)
    for each in composed(Queueing(Admission.EMBEDDED), "machine")(NoReach()):
        each.build(environment, each.metrics(CollectorRegistry()))
    watched = Counter((source.resource, str(source.selectors)) for source in informers.sources)
    shared = {RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, WORKLOAD_PRIORITY_CLASSES}
    assert {resource for resource, _ in watched} >= shared
    assert {each for each, times in watched.items() if times > 1 and each[0] in shared} == set()
    pods = {source.selectors.get("label_selector") for source in informers.sources if source.resource == PODS}
    assert pods == {RAY_PODS.selectors.get("label_selector"), SUBMITTER_PODS}


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (Settings(queueing=Queueing(Admission.KUEUE), namespaces=("team",)), "--watch-namespace"),
        (Settings(queueing=Queueing(Admission.KUEUE, default_queue="q")), "--default-queue"),
        (Settings(queueing=Queueing(Admission.EMBEDDED, kueue_takes_unlabelled=True)), "--kueue-takes-unlabelled"),
        (Settings(queueing=Queueing(Admission.KUEUE), fair_sharing=True), "--fair-sharing"),
        (Settings(queueing=Queueing(Admission.KUEUE), pods_ready_timeout=60), "--pods-ready-timeout"),
        (Settings(queueing=Queueing(Admission.KUEUE), block_until_pods_ready=True), "--block-until-pods-ready"),
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


def _built(*flags: str) -> tuple[EngineSettings, Engine]:
    """What the flags say, and the engine that a process with them runs."""
    found: dict[str, Any] = {}
    click.command("run")(flags_of_operator(lambda **options: found.update(options))).main(
        [*flags, "--admission=embedded"], standalone_mode=False
    )
    settings = settings_of(found)
    check_settings(settings)
    client = Client(RecordingTransport(_unasked))
    compose = composed(settings.queueing, engine_settings=engine_settings_of(settings))
    (entry,) = (each for each in compose(NoReach()) if each.name == "quota")
    recorder = ComponentRecorder(EventRecorder(client, "test"), "test")
    made = entry.build(Environment(client, Informers(client, None, SYSTEM_CLOCK), recorder, SYSTEM_CLOCK, 1), None)
    assert isinstance(made, EngineReconciler)
    return engine_settings_of(settings), made.engine


def test_the_flags_of_the_engine_reach_the_engine() -> None:
    found, built = _built("--fair-sharing", "--pods-ready-timeout=10m", "--block-until-pods-ready")
    assert found.pods_ready == PodsReady(600)
    assert (built.settings.fair_sharing, built.settings.block_until_pods_ready) == (True, True)
    assert isinstance(built.world.preemptor, FairPreemptor)
    found, built = _built()
    assert (found.pods_ready, type(built.world.preemptor)) == (None, Preemptor)
    with pytest.raises(click.BadParameter, match="soon is not a duration"):
        _built("--pods-ready-timeout=soon")


_KUEUE: Final = {
    "items": [{"metadata": {"namespace": "kueue-system", "name": "kueue"}, "status": {"readyReplicas": 1}}],
    "metadata": {"resourceVersion": "1"},
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "deployments", "refused"),
    [
        pytest.param(200, _KUEUE, True, id="at work"),
        pytest.param(200, {"items": [], "metadata": {"resourceVersion": "1"}}, False, id="not there"),
        pytest.param(403, {"kind": "Status", "code": 403, "reason": "Forbidden"}, False, id="nobody may look"),
    ],
)
async def test_the_engine_does_not_start_beside_kueue(status: int, deployments: Any, refused: bool) -> None:
    def answer(request: Request) -> Response:
        empty = {"items": [], "metadata": {"resourceVersion": "1"}}
        return answer_json(status, deployments if "/deployments" in request.target else empty)

    client = Client(RecordingTransport(answer))
    if not refused:
        await check_alone(client)
        return
    with pytest.raises(OperatorError) as error:
        await check_alone(client)
    assert "Deployment kueue-system/kueue" in error.value.why
    assert error.value.following == "rayward operator run --admission=kueue"
