"""What real Ray answered can be read."""

from __future__ import annotations

import msgspec
import orjson
import pytest

from rayward.operator.ray.answers import Application, Deployment, Nodes, Replica, Serve, Version
from rayward.operator.ray.holding import holds
from tests.operator.ray.script import STEPS, Step, app, config
from tests.operator.ray.trace import Trace, load


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return load()


def _answers(trace: Trace, step: str) -> list[Serve]:
    return [msgspec.convert(sample.answer, Serve) for sample in trace.step(step).samples]


def test_every_recorded_answer_can_be_read(recorded: Trace) -> None:
    read = [_answers(recorded, step.name) for step in recorded.steps]
    assert sum(map(len, read)) > 50


def test_before_the_first_configuration_serve_is_empty(recorded: Trace) -> None:
    assert _answers(recorded, "before")[-1] == Serve()


def test_a_running_application(recorded: Trace) -> None:
    found = _answers(recorded, "first application")[-1]
    application = found.applications["a"]
    assert (application.status, application.message, application.route_prefix) == ("RUNNING", "", "/a")
    greeter = application.deployments["Greeter"]
    assert (greeter.status, greeter.target_num_replicas) == ("HEALTHY", 1)
    assert [replica.state for replica in greeter.replicas] == ["RUNNING"]
    assert [proxy.status for proxy in found.proxies.values()] == ["HEALTHY"]


def test_a_failure_says_why(recorded: Trace) -> None:
    failed = _answers(recorded, "a second one that cannot be imported")[-1].applications["b"]
    assert failed.status == "DEPLOY_FAILED"
    assert failed.message.rstrip().endswith("AttributeError: module 'served' has no attribute 'nothing'")


def test_old_code_that_still_answers_has_no_deployments_while_new_code_fails(recorded: Trace) -> None:
    step = recorded.step("other code that cannot be imported")
    assert all(answer.applications["a"].deployments == {} for answer in _answers(recorded, step.name))
    assert step.visits["/a"] == (200, "bye")


def test_silent_is_who_cannot_answer(recorded: Trace) -> None:
    """What the answers say, held against what real Ray did with requests at that time."""
    silent: list[str] = []
    for step in recorded.steps:
        found = _answers(recorded, step.name)[-1:]
        for application in (one for answer in found for one in answer.applications.values()):
            status, words = step.visits.get(application.route_prefix or "", (0, ""))
            assert not (application.silent and status == 200), step.name
            if application.silent:
                silent.append(words)
    assert silent == ["Deployment(name='Raising', app='c') is unavailable because it failed to deploy."] * 2


def test_version_and_nodes(recorded: Trace) -> None:
    texts = {question.name: question.text for question in recorded.questions}
    version = msgspec.json.decode(texts["version"], type=Version)
    assert (version.ray_version, version.session_name[:8]) == ("2.60.0", "session_")
    (node,) = msgspec.json.decode(texts["nodes"], type=Nodes).nodes
    assert (node.is_head_node, node.state) == (True, "ALIVE")


@pytest.mark.parametrize(
    ("statuses", "settled"),
    [
        ([], True),
        (["RUNNING", "DEPLOY_FAILED"], True),
        (["RUNNING", "DEPLOYING"], False),
        (["UNHEALTHY"], False),
        (["DELETING"], False),
        (["NOT_STARTED"], False),
        (["A_STATUS_OF_A_LATER_RAY"], False),
    ],
)
def test_whether_something_is_on_its_way(statuses: list[str], settled: bool) -> None:
    assert Serve({str(i): Application(status) for i, status in enumerate(statuses)}).settled is settled


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_serve_holds_what_it_was_sent(recorded: Trace, step: Step) -> None:
    assert all(holds(answer, orjson.dumps(step.put)) for answer in _answers(recorded, step.name))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(config(app("a", "greeting"), target_capacity=50), id="another capacity"),
        pytest.param(config(app("a", "farewell")), id="other code"),
        pytest.param(config(app("a", "greeting"), app("b", "greeting")), id="one more"),
        pytest.param(config({**app("a", "greeting"), "deployments": []}), id="one more field"),
        pytest.param(config(app("b", "greeting")), id="another one"),
        pytest.param(config(), id="none"),
        pytest.param(config(app("a", "greeting"), logging_config={}), id="something that Serve does not tell"),
        pytest.param([], id="no configuration"),
    ],
)
def test_serve_does_not_hold_anything_else(recorded: Trace, other: object) -> None:
    assert not holds(_answers(recorded, "first application")[-1], orjson.dumps(other))


def test_an_empty_serve_holds_no_applications_but_not_no_configuration() -> None:
    assert holds(Serve(), orjson.dumps(config()))
    assert not holds(Serve(), b"{}")
    assert not holds(Serve(), b"[]")
    assert not holds(Serve(), b"")


@pytest.mark.parametrize(
    ("states", "deserted", "reconfiguring"),
    [
        (["RUNNING", "UPDATING"], False, False),
        (["PENDING_MIGRATION", "STOPPING"], False, False),
        (["RECOVERING"], False, False),
        (["STARTING", "STOPPING"], True, False),
        (["UPDATING", "STARTING"], True, True),
        ([], True, False),
    ],
)
def test_a_replica_is_up_while_ray_routes_to_it(states: list[str], deserted: bool, reconfiguring: bool) -> None:
    deployment = Deployment("UPDATING", target_num_replicas=2, replicas=tuple(Replica(state=each) for each in states))
    assert (deployment.deserted, deployment.reconfiguring) == (deserted, reconfiguring)
