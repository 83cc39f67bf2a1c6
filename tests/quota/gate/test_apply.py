"""What is written of an evicted Workload whose pods are gone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rayward.kinds.kueue import Workload, names
from rayward.quota.gate.apply import requeued
from tests.quota.engine.building import workload

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _evicted(reason: str, *, ready: bool) -> Workload:
    evicted = {"type": names.EVICTED, "status": "True", "reason": reason, "message": "why"}
    conditions: list[dict[str, Any]] = [evicted]
    if ready:
        conditions.append({"type": names.PODS_READY, "status": "True", "reason": names.STARTED})
    return workload("w", "q", {"cpu": 1}, admitted={"queue": "cq", "flavor": "f"}, status={"conditions": conditions})


@pytest.mark.parametrize(
    ("reason", "queues_again"),
    [
        (names.BY_PREEMPTION, "True"),
        (names.BY_NODE_FAILURES, "True"),
        (names.BY_PODS_READY_TIMEOUT, "False"),
        (names.BY_ADMISSION_CHECK, "False"),
        (names.BY_CLUSTER_QUEUE_STOPPED, "False"),
        (names.BY_LOCAL_QUEUE_STOPPED, "False"),
        (names.BY_DEACTIVATION, "False"),
    ],
)
@pytest.mark.parametrize("ready", [True, False])
def test_only_what_was_preempted_or_lost_its_node_is_in_its_queue_again_at_once(
    reason: str, queues_again: str, ready: bool
) -> None:
    found = _evicted(reason, ready=ready)
    status = requeued(found, _NOW)
    after = msgspec.structs.replace(found, status=status)
    again, reserved = after.condition(names.REQUEUED), after.condition(names.QUOTA_RESERVED)
    assert again is not None
    assert reserved is not None
    assert (again.status, again.reason, again.message) == (queues_again, reason, "why")
    assert reserved.status == "False"
    assert after.status.admission is None
    assert not after.holds(names.PODS_READY)
