"""Whether a node is there for pods."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rayward.kube.core.lease import Lease, LeaseSpec
from rayward.kube.core.node import Node, NodeStatus
from rayward.kube.core.objects import Condition
from rayward.local.node.scheduling.presence import is_ready

NOW = datetime(2026, 1, 2, 3, 4, 50, tzinfo=UTC)


def _node(ready: str | None) -> Node:
    pressure = Condition(type="MemoryPressure", status="False")
    told = (pressure,) if ready is None else (pressure, Condition(type="Ready", status=ready))
    return Node(status=NodeStatus(conditions=told))


def _lease(renewed: str | None) -> Lease:
    return Lease(spec=LeaseSpec(renew_time=renewed, lease_duration_seconds=40))


FRESH = _lease("2026-01-02T03:04:11.000000Z")
OLD = _lease("2026-01-02T03:04:09.000000Z")


@pytest.mark.parametrize(
    ("ready", "lease", "expected"),
    [
        pytest.param("True", FRESH, True, id="ready and lately renewed"),
        pytest.param("True", OLD, False, id="ready, but not heard of for too long"),
        pytest.param("False", FRESH, False, id="says that it is not ready"),
        pytest.param("Unknown", FRESH, False, id="given up by a controller"),
        pytest.param("True", None, True, id="ready, with no lease"),
        pytest.param("True", _lease(None), True, id="ready, with a lease never renewed"),
        pytest.param(None, None, True, id="says nothing"),
        pytest.param(None, OLD, False, id="says nothing any more"),
    ],
)
def test_a_node_is_ready(ready: str | None, lease: Lease | None, expected: bool) -> None:
    assert is_ready(_node(ready), lease, NOW) is expected
