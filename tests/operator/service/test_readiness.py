"""What is waited for is said with its cause."""

from __future__ import annotations

import dataclasses

import pytest

from rayward.operator.service.readiness import readiness_of
from rayward.operator.service.state import ChildCluster, ServeState

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
