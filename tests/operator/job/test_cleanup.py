from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any, Final

import msgspec
import pytest

from rayward.kinds.rayjob import JobStatus, RayJob
from rayward.operator.job.annotations import Attempt, stamp
from rayward.operator.job.cleanup import after_the_end, unmatched
from rayward.operator.job.facts import Cluster, Submitter
from rayward.operator.job.state import Action, RayView, State
from tests.operator.job.world import START, job

RULE = {"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED", "ttlSeconds": 60}}
_RUNS = RayView(True, "s", JobStatus.RUNNING)


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


_DEPLOYMENT: Final = {"policy": "DeleteCluster", "condition": {"jobDeploymentStatus": "Failed"}}


@pytest.mark.parametrize(
    ("status", "rules", "told"),
    [
        ("", [RULE], "reason DeadlineExceeded and no jobStatus"),
        ("STOPPED", [RULE], "jobStatus STOPPED"),
        ("", [RULE, _DEPLOYMENT], ""),
        ("SUCCEEDED", [RULE], ""),
        ("FAILED", [RULE], ""),
        ("", [], ""),
    ],
)
def test_an_end_that_no_rule_speaks_of_is_told(status: str, rules: list[Any], told: str) -> None:
    state = _state(status, **({"deletionStrategy": {"deletionRules": rules}} if rules else {}))
    ended = msgspec.structs.replace(state.status, reason="DeadlineExceeded", ray_cluster_name="j-1")
    text = unmatched(state.spec, ended)
    assert (told in text) if told else text == ""
    assert not told or "RayCluster j-1 stays; " in text


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


@pytest.mark.parametrize(
    ("reason", "ray", "after", "sent", "stopping", "does"),
    [
        pytest.param("DeadlineExceeded", RayView(), 10, None, True, [], id="nobody answers yet"),
        pytest.param("DeadlineExceeded", _RUNS, 10, None, True, ["Stop"], id="the first request was lost"),
        pytest.param("DeadlineExceeded", _RUNS, 10, 8, True, [], id="Ray is given time"),
        pytest.param("DeadlineExceeded", _RUNS, 10, 5, True, ["Stop"], id="it is asked again"),
        pytest.param("OutcomeUnknown", _RUNS, 10, None, True, ["Stop"], id="a head that was silent answers again"),
        pytest.param("DeadlineExceeded", RayView(True, "s", JobStatus.STOPPED), 10, None, False, [], id="it did"),
        pytest.param("OutcomeUnknown", RayView(True, "s"), 10, None, False, [], id="Ray does not know it"),
        pytest.param("DeadlineExceeded", _RUNS, 301, None, False, [], id="not for ever"),
        pytest.param("AppFailed", _RUNS, 10, None, False, [], id="Ray itself had ended it"),
        pytest.param(
            "OutcomeUnknown",
            dataclasses.replace(_RUNS, driver_lost=True),
            10,
            None,
            False,
            [],
            id="a driver that is gone cannot be stopped",
        ),
    ],
)
def test_a_job_that_was_given_up_is_stopped_in_ray(
    reason: str, ray: RayView, after: int, sent: int | None, stopping: bool, does: list[str]
) -> None:
    state = _state("FAILED")
    status = msgspec.structs.replace(state.status, reason=reason, job_status="")
    state = dataclasses.replace(
        state,
        job=msgspec.structs.replace(state.job, status=status),
        ray=ray,
        stop_sent=None if sent is None else START + timedelta(seconds=sent),
    )
    decision = after_the_end(state, START + timedelta(seconds=after))
    assert (decision.stopping, [action.value for action in decision.actions]) == (stopping, does)
    assert (decision.wake_at is not None) is stopping
