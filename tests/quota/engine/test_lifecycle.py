from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rayward.kinds.kueue import Workload
from rayward.kube.core.meta import condition_of
from rayward.quota.engine import status as to
from rayward.quota.engine.inventory import QueueState
from rayward.quota.engine.item import Grant
from rayward.quota.engine.lifecycle import PodsReady, Surroundings, Update, next_update
from tests.quota.engine.building import at, local_queue, workload

NOW = datetime.fromtimestamp(1000, UTC)
ACTIVE = QueueState(True)
FLAVOR = {"queue": "q", "flavor": "default"}


def _around(**more: Any) -> Surroundings:
    fields: dict[str, Any] = {
        "local_queue": local_queue("q", "q"),
        "cluster_queue": "q",
        "state": ACTIVE,
        "stopped": "",
        "checks": (),
    }
    return Surroundings(**(fields | more))


def _condition(kind: str, status: str, reason: str = "", since: float = 0) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": at(since)}


def _held(*conditions: dict[str, Any], since: float = 990, **status: Any) -> Workload:
    return workload(
        "w",
        "q",
        {"cpu": 1},
        admitted=FLAVOR,
        reserved_at=since,
        status={"conditions": list(conditions), **status},
    )


def _told(found: Update, kind: str) -> tuple[str, str] | None:
    condition = condition_of(found.status.conditions, kind) if found.status else None
    return (condition.status, condition.reason) if condition else None


def _with(one: Workload, **spec: Any) -> Workload:
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, **spec))


READY = PodsReady(timeout=60, recovery_timeout=20, backoff_base=10, backoff_limit=2)


@pytest.mark.parametrize(
    ("one", "around", "kind", "told"),
    [
        (_held(), _around(), "Evicted", None),
        (_with(_held(), active=False), _around(), "Evicted", ("True", "Deactivated")),
        (_held(), _around(stopped="HoldAndDrain"), "Evicted", ("True", "ClusterQueueStopped")),
        (_held(), _around(stopped="Hold", state=QueueState(False, "Stopped")), "Evicted", None),
        (
            _held(),
            _around(local_queue=local_queue("q", "q", stopPolicy="HoldAndDrain")),
            "Evicted",
            ("True", "LocalQueueStopped"),
        ),
        (_held(since=900), _around(pods_ready=READY), "Evicted", ("True", "PodsReadyTimeout")),
        (_held(since=990), _around(pods_ready=READY), "Evicted", None),
        (_held(_condition("PodsReady", "True"), since=1), _around(pods_ready=READY), "Evicted", None),
        (
            _held(_condition("PodsReady", "False", "WaitForRecovery", 970), since=1),
            _around(pods_ready=READY),
            "Evicted",
            ("True", "PodsReadyTimeout"),
        ),
        (
            _held(since=900, requeueState={"count": 2}),
            _around(pods_ready=READY),
            "DeactivationTarget",
            ("True", "RequeuingLimitExceeded"),
        ),
        (
            _with(_held(since=900), maximum_execution_time_seconds=100),
            _around(),
            "DeactivationTarget",
            ("True", "MaximumExecutionTimeExceeded"),
        ),
        (_with(_held(since=901), maximum_execution_time_seconds=100), _around(), "DeactivationTarget", None),
        (
            _held(admissionChecks=[{"name": "c", "state": "Retry"}]),
            _around(checks=("c",)),
            "Admitted",
            ("False", "UnsatisfiedChecks"),
        ),
        (
            workload("w", "q", {"cpu": 1}, status={"conditions": [_condition("Requeued", "False", "Deactivated")]}),
            _around(),
            "Requeued",
            ("True", "Reactivated"),
        ),
        (
            workload(
                "w", "q", {"cpu": 1}, status={"conditions": [_condition("Requeued", "False", "PodsReadyTimeout")]}
            ),
            _around(),
            "Requeued",
            ("True", "BackoffFinished"),
        ),
        (
            workload(
                "w",
                "q",
                {"cpu": 1},
                status={
                    "conditions": [_condition("Requeued", "False", "PodsReadyTimeout")],
                    "requeueState": {"count": 1, "requeueAt": at(1001)},
                },
            ),
            _around(),
            "Requeued",
            None,
        ),
        (
            workload(
                "w", "q", {"cpu": 1}, status={"conditions": [_condition("Requeued", "False", "ClusterQueueStopped")]}
            ),
            _around(stopped="Hold"),
            "Requeued",
            None,
        ),
        (
            workload(
                "w", "q", {"cpu": 1}, status={"conditions": [_condition("Requeued", "False", "ClusterQueueStopped")]}
            ),
            _around(),
            "Requeued",
            ("True", "ClusterQueueRestarted"),
        ),
        (workload("w", "q", {"cpu": 1}), _around(local_queue=None, cluster_queue=""), "QuotaReserved", None),
    ],
)
def test_a_workload_is_kept_in_order(
    one: Workload, around: Surroundings, kind: str, told: tuple[str, str] | None
) -> None:
    found = next_update(one, around, NOW)
    if around.local_queue is None:
        assert _told(found, "QuotaReserved") == ("False", "Inadmissible")
    else:
        assert _told(found, kind) == told


def test_a_deactivation_target_deactivates() -> None:
    one = _held(_condition("DeactivationTarget", "True", "RequeuingLimitExceeded"))
    assert next_update(one, _around(), NOW).deactivate


def test_each_timeout_waits_twice_as_long_and_not_longer_than_the_longest() -> None:
    waits: list[str | None] = []
    status = _held().status
    for _ in range(4):
        status = to.backed_off(status, 10, 30, NOW)
        waits.append(status.requeue_state.requeue_at if status.requeue_state else None)
    assert waits == [at(1010), at(1020), at(1030), at(1030)]


def test_checks_are_asked_before_admission_and_reset_after_eviction() -> None:
    one = workload("w", "q", {"cpu": 1})
    reserved = to.reserved(one, "q", [Grant("main", 1, {"cpu": "default"}, {"cpu": 1000})], ["c"], NOW)
    assert not Workload(status=reserved).admitted
    ready = _held(admissionChecks=[{"name": "c", "state": "Ready"}])
    evicted = to.evicted(ready, "Preempted", "others first", NOW, preempted="InClusterQueue")
    assert [check.state for check in evicted.admission_checks or ()] == ["Pending"]
    assert evicted.scheduling_stats == {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}


def test_quota_again_takes_the_eviction_back() -> None:
    one = workload("w", "q", {"cpu": 1}, evicted=True)
    status = to.reserved(one, "q", [Grant("main", 1, {"cpu": "default"}, {"cpu": 1000})], [], NOW)
    assert not Workload(status=status).evicted
    assert Workload(status=status).admitted


def test_what_is_applied_is_whole_and_nothing_else() -> None:
    one = _held(_condition("Foreign", "True"), reclaimablePods=[{"name": "main", "count": 0}])
    body = to.apply_body(one, one.status)
    assert {condition["type"] for condition in body["status"]["conditions"]} == {"QuotaReserved", "Admitted"}
    assert set(body["status"]) == {"conditions", "admission"}
    assert body["status"]["admission"]["podSetAssignments"][0]["name"] == "main"
