from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rayward.kinds.rayjob import RayJob
from rayward.operator.job.annotations import Attempt, stamp
from rayward.operator.job.cleanup import after_the_end
from rayward.operator.job.facts import Cluster, Submitter
from rayward.operator.job.state import Action, State
from tests.operator.job.world import START, job

RULE = {"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED", "ttlSeconds": 60}}


def _state(status: str = "SUCCEEDED", **spec: Any) -> State:
    made = job(**spec)
    told = msgspec.structs.replace(
        made.status,
        job_deployment_status="Complete" if status == "SUCCEEDED" else "Failed",
        job_status=status,
        end_time=stamp(START),
    )
    ended: RayJob = msgspec.structs.replace(made, status=told)
    return State(ended, Attempt(1), ended.spec, cluster=Cluster.READY, log_tail="the end")


@pytest.mark.parametrize(
    ("status", "spec", "after", "does"),
    [
        ("SUCCEEDED", {}, 9999, []),
        ("SUCCEEDED", {"shutdownAfterJobFinishes": True}, 0, ["DeleteCluster"]),
        ("SUCCEEDED", {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 60}, 59, []),
        ("SUCCEEDED", {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 60}, 60, ["DeleteCluster"]),
        ("SUCCEEDED", {"deletionStrategy": {"deletionRules": [RULE]}}, 99, []),
        ("FAILED", {"deletionStrategy": {"deletionRules": [RULE]}}, 60, ["DeleteCluster"]),
        (
            "FAILED",
            {
                "deletionStrategy": {
                    "deletionRules": [
                        {"policy": "DeleteWorkers", "condition": {"jobStatus": "FAILED"}},
                        RULE,
                        {"policy": "DeleteSelf", "condition": {"jobDeploymentStatus": "Failed", "ttlSeconds": 90}},
                    ]
                }
            },
            61,
            ["DeleteCluster"],
        ),
        (
            "FAILED",
            {"deletionStrategy": {"onSuccess": {"policy": "DeleteNone"}, "onFailure": {"policy": "DeleteSelf"}}},
            0,
            ["DeleteSelf"],
        ),
        ("SUCCEEDED", {"shutdownAfterJobFinishes": True, "clusterSelector": {"ray.io/cluster": "c"}}, 9999, []),
    ],
)
def test_what_goes_and_when(status: str, spec: dict[str, Any], after: int, does: list[str]) -> None:
    decision = after_the_end(_state(status, **spec), START + timedelta(seconds=after))
    assert [action.value for action in decision.actions] == does


def test_what_comes_later_is_woken_for() -> None:
    decision = after_the_end(_state(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=60), START)
    assert decision.wake_at == START + timedelta(seconds=60)


def test_the_log_is_read_before_the_cluster_goes_but_not_waited_for_for_ever() -> None:
    state = dataclasses.replace(_state(shutdownAfterJobFinishes=True), log_tail=None)
    assert after_the_end(state, START).actions == (Action.READ_LOG,)
    assert after_the_end(state, START + timedelta(seconds=30)).actions == (Action.DELETE_CLUSTER,)


def test_the_submitter_may_end_before_the_cluster_goes() -> None:
    state = dataclasses.replace(
        _state(shutdownAfterJobFinishes=True, submissionMode="K8sJobMode"), submitter=Submitter.ACTIVE
    )
    assert after_the_end(state, START).actions == ()
    ended = dataclasses.replace(state, submitter=Submitter.UNREAD)
    assert after_the_end(ended, START).actions == (Action.DELETE_CLUSTER,)
    assert after_the_end(state, START + timedelta(seconds=30)).actions == (Action.DELETE_CLUSTER,)
