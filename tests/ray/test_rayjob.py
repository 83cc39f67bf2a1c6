"""RayJobs with real Ray, in every mode, to each of their ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS, SECRETS
from tests.ray.damage import processes_of
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


@pytest.mark.parametrize("storage", [None, {"backend": "rocksdb"}], ids=["memory", "volume"])
def test_a_job_whose_gcs_server_is_killed_never_stays_running(stack: RayStack, storage: Object | None) -> None:
    name = "volume" if storage else "memory"
    made = _job(name, "sleep 600")
    if storage:
        made["spec"]["rayClusterSpec"]["gcsFaultToleranceOptions"] = storage
    stack.apply(made)
    eventually(lambda: _status(stack, name).get("jobStatus") == "RUNNING", PATIENCE)
    head = stack.head(_status(stack, name)["rayClusterName"])["metadata"]["name"]
    servers = [pid for pid in processes_of(head) if b"gcs_server" in _program(pid)]
    assert servers
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    status = _ends(stack, name, "Failed")
    # The driver went with its head. A GCS that remembers says so; of one that does not, nobody can know.
    expected = {("AppFailed", "FAILED"), ("OutcomeUnknown", "")} if storage else {("OutcomeUnknown", "")}
    assert (status["reason"], status.get("jobStatus", "")) in expected
    stack.rayward("delete", "rayjob", name)


def test_a_submitter_that_is_killed_submits_nothing_again(stack: RayStack) -> None:
    stack.apply(_job("resumes", "bash -c 'echo began; sleep 20; echo ended'", submissionMode="K8sJobMode"))
    eventually(lambda: _status(stack, "resumes").get("jobStatus") == "RUNNING", PATIENCE)
    (first,) = _submitters(stack, "resumes")
    stack.client.delete(PODS, first, "default", grace_period_seconds=0)
    eventually(lambda: first not in _submitters(stack, "resumes") and bool(_submitters(stack, "resumes")), PATIENCE)
    status = _ends(stack, "resumes")
    eventually(lambda: bool(_status(stack, "resumes")["attempts"][0].get("logTail")), PATIENCE)
    (row,) = _status(stack, "resumes")["attempts"]
    lines = row["logTail"].splitlines()
    assert (status["jobStatus"], lines.count("began"), lines.count("ended")) == ("SUCCEEDED", 1, 1)
    stack.rayward("delete", "rayjob", "resumes")


def test_run_uploads_a_folder_and_ends_with_the_result(stack: RayStack, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def answer(): return 'answer 42'\n")
    (tmp_path / "main.py").write_text(
        "import sys, ray, helper\n"
        "ray.init(log_to_driver=False)\n"
        "print(ray.get(ray.remote(helper.answer).remote()), flush=True)\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    run = ["run", "--image", "rayproject/ray:2.60.0", "--working-dir", str(tmp_path)]
    said = stack.rayward(*run, "--name", "ran", "--", "python", "main.py", "0")
    assert "answer 42" in said.splitlines()
    eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, PATIENCE)
    assert "answer 42" in stack.rayward("logs", "rayjob/ran").splitlines()
    # the retry runs on a new cluster, where the code is too
    done = stack.program(*run, "--name", "failed", "--retries", "1", "--", "python", "main.py", "5")
    assert done.returncode == 8, done.stderr
    assert done.stdout.splitlines().count("answer 42") == 2
    assert "AppFailed (exit code 5)" in stack.rayward("get", "rayjobs")
    again = stack.rayward("rerun", "ran", "--detach")
    assert again == "rayjob.ray.io/ran-2\n"
    assert "suspended before it ran" in stack.rayward("stop", "ran-2")
    stack.rayward("delete", "rayjob", "ran", "failed", "ran-2")
    eventually(lambda: not _codes(stack), PATIENCE)


def _codes(stack: RayStack) -> list[Object]:
    found = stack.client.list(SECRETS, "default", field_selector="type=rayward.dev/working-dir").items
    return list(found)


def _submitters(stack: RayStack, name: str) -> list[str]:
    found = stack.client.list(PODS, "default", label_selector=f"batch.kubernetes.io/job-name={name}").items
    return [pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]]


def _program(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""


def _patch(stack: RayStack, name: str, spec: Object) -> None:
    stack.client.patch(RAY_JOBS, name, {"spec": spec}, PatchType.MERGE, "default")
