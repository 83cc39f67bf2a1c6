"""What is waited for is said with its cause."""

from __future__ import annotations

import dataclasses

import pytest

from rayward.operator.service.readiness import readiness_of
from rayward.operator.service.state import Application, ChildCluster, ServeState

UP = ChildCluster("c", "hash", "config", head_ready=True)
DENIED = dataclasses.replace(UP, unreachable="401: a token is needed")


@pytest.mark.parametrize(
    ("cluster", "reason", "says"),
    [
        pytest.param(UP, "ServeUnknown", "has not answered", id="nobody has asked it"),
        pytest.param(DENIED, "DashboardUnreachable", "401: a token is needed", id="its dashboard refuses us"),
        pytest.param(
            dataclasses.replace(DENIED, serve=ServeState("")),
            "ConfigNotSent",
            "401: a token is needed",
            id="or the config",
        ),
    ],
)
def test_why_a_dashboard_does_not_answer_is_told(cluster: ChildCluster, reason: str, says: str) -> None:
    readiness = readiness_of(cluster)
    assert readiness.reason == reason
    assert says in readiness.message


_CRASH = "pod c-worker: container ray-worker: Invalid value for '--num-cpus' (restarted 2 times)"
_FULL = "no Ray node has room for a replica of deployment D"


@pytest.mark.parametrize(
    ("app", "starts"),
    [
        pytest.param(None, _CRASH, id="Serve does not know it yet"),
        pytest.param(Application("a", "DEPLOYING", unscheduled=_FULL), f"{_CRASH}; {_FULL}", id="no room"),
        pytest.param(Application("a", "DEPLOYING", "it is slow"), f"{_CRASH}; it is slow", id="Ray's words"),
        pytest.param(
            Application("a", "DEPLOYING", "Traceback (most recent call last):\nValueError: no"),
            "ValueError: no",
            id="the code raises",
        ),
        pytest.param(Application("a", "UNHEALTHY", "it is ill"), "it is ill", id="it ran before"),
    ],
)
def test_a_pod_that_fails_is_the_cause_of_replicas_without_room(app: Application | None, starts: str) -> None:
    problem = f"{_CRASH}\nUsage: ray start"
    serve = ServeState("config", (app,) if app else ())
    cluster = dataclasses.replace(
        UP, serve=serve, applications=frozenset({"a"}), problem=problem, failing=problem, missing="0 of 1 pods"
    )
    status = app.status if app else "NOT_STARTED"
    assert readiness_of(cluster).message.startswith(f"Application a is {status}: {starts}")


def test_pods_that_only_start_are_no_cause() -> None:
    serve = ServeState("config", (Application("a", "DEPLOYING", unscheduled=_FULL),))
    cluster = dataclasses.replace(UP, serve=serve, applications=frozenset({"a"}), problem="1 of 2 pods are ready")
    assert readiness_of(cluster).message.startswith(f"Application a is DEPLOYING: {_FULL}")
