"""RayJobs with real Ray, in every mode, to each of their ends."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS
from tests.ray.stack import PATIENCE, SAMPLES, RayStack
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1200)]

Object = dict[str, Any]


def _job(name: str, entrypoint: str, **spec: Any) -> Object:
    made: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    made["metadata"]["name"] = name
    made["spec"] |= {"entrypoint": entrypoint, "backoffLimit": 0, **spec}
    return made


def _status(stack: RayStack, name: str) -> Object:
    return stack.client.get(RAY_JOBS, name, "default").get("status") or {}


def _ends(stack: RayStack, name: str, phase: str = "Complete") -> Object:
    def ended() -> bool:
        found = _status(stack, name).get("jobDeploymentStatus")
        assert found not in {"Complete", "Failed", "ValidationFailed"} - {phase}, _status(stack, name)
        return found == phase

    eventually(ended, PATIENCE)
    return _status(stack, name)


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_runs_and_its_log_outlives_its_cluster(stack: RayStack, mode: str) -> None:
    name = mode.lower()
    stack.apply(_job(name, "printenv COLOUR", submissionMode=mode, runtimeEnvYAML="env_vars: {COLOUR: blue}\n"))
    status = _ends(stack, name)
    assert status["jobStatus"] == "SUCCEEDED"
    eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, PATIENCE)
    (row,) = _status(stack, name)["attempts"]
    assert row["exitCode"] == 0
    assert "blue" in row["logTail"].splitlines()
    stack.rayward("delete", "rayjob", name)


def test_a_job_that_fails_is_tried_again_on_a_new_cluster(stack: RayStack) -> None:
    stack.apply(_job("fails", "exit 3", backoffLimit=1))
    status = _ends(stack, "fails", "Failed")
    assert (status["reason"], status["failed"]) == ("AppFailed", 2)
    assert [row["exitCode"] for row in status["attempts"]] == [3, 3]
    assert len({row["rayClusterName"] for row in status["attempts"]}) == 2
    stack.rayward("delete", "rayjob", "fails")


def test_suspend_edit_resume_then_a_head_that_is_killed(stack: RayStack) -> None:
    stack.apply(_job("edits", "sleep 600"))
    eventually(lambda: _status(stack, "edits").get("jobStatus") == "RUNNING", PATIENCE)
    first = _status(stack, "edits")["rayClusterName"]
    _patch(stack, "edits", {"suspend": True})
    eventually(lambda: _status(stack, "edits").get("jobDeploymentStatus") == "Suspended", PATIENCE)
    _patch(stack, "edits", {"suspend": False, "entrypoint": "sleep 601"})
    eventually(lambda: _status(stack, "edits").get("jobStatus") == "RUNNING", PATIENCE)
    second = _status(stack, "edits")["rayClusterName"]
    assert first != second
    stack.client.delete(PODS, stack.head(second)["metadata"]["name"], "default", grace_period_seconds=0)
    status = _ends(stack, "edits", "Failed")
    assert (status["reason"], status.get("jobStatus", "")) == ("OutcomeUnknown", "")
    stack.rayward("delete", "rayjob", "edits")


def _patch(stack: RayStack, name: str, spec: Object) -> None:
    stack.client.patch(RAY_JOBS, name, {"spec": spec}, PatchType.MERGE, "default")
