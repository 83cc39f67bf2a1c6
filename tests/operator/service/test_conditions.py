"""What a service says of itself: whether it serves, and why not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rayward.kube.core.meta import condition_of
from rayward.operator.service.conditions import READY, Conditions, Facts, conditions, phase_of, served_before
from rayward.operator.service.state import Decision, Failure

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAILED = Decision(failure=Failure("ServeDeployFailed", "no module named app"))
SERVES = Facts(1, endpoints=2, decision=Decision())
NOBODY = Facts(1, endpoints=0, decision=Decision())
SILENT = Facts(1, endpoints=2, decision=Decision(), silent=("app",))


def _told(*times: Facts) -> Conditions:
    told: Conditions = ()
    for seen in times:
        told = conditions(told, seen, NOW)
    return told


@pytest.mark.parametrize(
    ("times", "status", "reason", "phase"),
    [
        pytest.param([NOBODY], "False", "Initializing", "Initializing", id="it never served"),
        pytest.param([SERVES], "True", "NonZeroServeEndpoints", "Running", id="pods take requests"),
        pytest.param([SERVES, NOBODY], "False", "ZeroServeEndpoints", "Unavailable", id="no longer"),
        pytest.param([SERVES, SILENT], "False", "NoRunningReplica", "Unavailable", id="nobody answers them"),
        pytest.param(
            [SERVES, SILENT, NOBODY], "False", "ZeroServeEndpoints", "Unavailable", id="first silent, then gone"
        ),
        pytest.param([SERVES, SILENT, SERVES], "True", "NonZeroServeEndpoints", "Running", id="well again"),
        pytest.param([Facts(1, 0, FAILED)], "False", "ServeDeployFailed", "Failed", id="the first release failed"),
        pytest.param([SERVES, Facts(2, 2, FAILED)], "True", "NonZeroServeEndpoints", "Running", id="a later one did"),
        pytest.param(
            [Facts(1, 0, Decision(), rejected=Failure("ValidationFailed", "line 3"))],
            "False",
            "ValidationFailed",
            "Failed",
            id="never accepted",
        ),
    ],
)
def test_ready_tells_whether_it_serves(times: list[Facts], status: str, reason: str, phase: str) -> None:
    told = _told(*times)
    ready = condition_of(told, READY)
    assert ready is not None
    assert (ready.status, ready.reason, phase_of(told)) == (status, reason, phase)


def test_an_application_that_is_silent_is_named() -> None:
    ready = condition_of(_told(SERVES, SILENT), READY)
    assert ready is not None
    assert ready.message == "No running replica of app"


def test_a_service_that_fell_silent_served_before() -> None:
    assert served_before(_told(SERVES, SILENT))
    assert not served_before(_told(NOBODY))
