"""RayJobs with real Ray, in every mode, to each of their ends."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import PODS, SECRETS
from tests.ray.damage import processes_of
from tests.ray.jobs import edit, ends, runs, sample_job, status_of
from tests.ray.stack import PATIENCE, RayStack
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1200)]

Object = dict[str, Any]


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
def test_a_job_runs_and_its_log_outlives_its_cluster(stack: RayStack, mode: str) -> None:
    name = mode.lower()
    stack.apply(sample_job(name, "printenv COLOUR", submissionMode=mode, runtimeEnvYAML="env_vars: {COLOUR: blue}\n"))
    status = ends(stack, name)
    assert status["jobStatus"] == "SUCCEEDED"
    eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, PATIENCE)
    (row,) = status_of(stack, name)["attempts"]
    assert row["exitCode"] == 0
    assert "blue" in row["logTail"].splitlines()
    stack.rayward("delete", "rayjob", name)


def test_a_job_that_fails_is_tried_again_on_a_new_cluster(stack: RayStack) -> None:
    stack.apply(sample_job("fails", "exit 3", backoffLimit=1))
    status = ends(stack, "fails", "Failed")
    assert (status["reason"], status["failed"]) == ("AppFailed", 2)
    assert [row["exitCode"] for row in status["attempts"]] == [3, 3]
    assert len({row["rayClusterName"] for row in status["attempts"]}) == 2
    stack.rayward("delete", "rayjob", "fails")


def test_a_job_that_is_suspended_while_it_runs_begins_anew_when_it_is_resumed(stack: RayStack) -> None:
    # a file says when the job may end
    stack.apply(sample_job("pauses", "bash -c 'while [ ! -e /tmp/go-on ]; do sleep 0.2; done'"))
    runs(stack, "pauses")
    first = status_of(stack, "pauses")["rayClusterName"]
    edit(stack, "pauses", suspend=True)
    eventually(lambda: status_of(stack, "pauses").get("jobDeploymentStatus") == "Suspended", PATIENCE)
    assert not stack.client.list(RAY_CLUSTERS, "default").items
    edit(stack, "pauses", suspend=False)
    runs(stack, "pauses")
    second = status_of(stack, "pauses")["rayClusterName"]
    assert second != first
    stack.rayward("exec", stack.head(second)["metadata"]["name"], "-c", "ray-head", "--", "touch", "/tmp/go-on")
    status = ends(stack, "pauses")
    assert (status["jobStatus"], status["succeeded"], status.get("failed", 0)) == ("SUCCEEDED", 1, 0)
    eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, PATIENCE)
    assert [row["reason"] for row in status["attempts"]] == ["Suspended", "Succeeded"]
    stack.rayward("delete", "rayjob", "pauses")


def test_an_edit_while_a_job_is_suspended_runs_when_it_is_resumed_and_ends_with_its_head(stack: RayStack) -> None:
    stack.apply(sample_job("edits", "bash -c 'echo first; sleep 600'", submissionMode="K8sJobMode"))
    runs(stack, "edits")
    eventually(lambda: "first" in stack.program("logs", "rayjob/edits").stdout.splitlines(), PATIENCE)
    first = status_of(stack, "edits")["rayClusterName"]
    edit(stack, "edits", suspend=True)
    eventually(lambda: status_of(stack, "edits").get("jobDeploymentStatus") == "Suspended", PATIENCE)
    edit(stack, "edits", entrypoint="bash -c 'echo edited; sleep 601'")
    edit(stack, "edits", suspend=False)
    runs(stack, "edits")
    eventually(lambda: "edited" in stack.program("logs", "rayjob/edits").stdout.splitlines(), PATIENCE)
    second = status_of(stack, "edits")["rayClusterName"]
    assert first != second
    _kill_head(stack, second)
    status = ends(stack, "edits", "Failed")
    assert (status["reason"], status.get("jobStatus", "")) == ("OutcomeUnknown", "")
    assert [row["reason"] for row in status["attempts"]] == ["Suspended", "OutcomeUnknown"]
    stack.rayward("delete", "rayjob", "edits")


def test_jobs_whose_head_is_killed_never_stay_running(stack: RayStack) -> None:
    names = ("sidecar", "http")
    stack.apply(
        sample_job("sidecar", "sleep 600", submissionMode="SidecarMode"),
        sample_job("http", "sleep 600", submissionMode="HTTPMode"),
    )
    for name in names:
        runs(stack, name)
        _kill_head(stack, status_of(stack, name)["rayClusterName"])
    for name in names:
        status = ends(stack, name, "Failed")
        assert (status["reason"], status.get("jobStatus", "")) == ("OutcomeUnknown", "")
        assert len(status["attempts"]) == 1
    stack.rayward("delete", "rayjob", *names)


@pytest.mark.parametrize("storage", [None, {"backend": "rocksdb"}], ids=["memory", "volume"])
def test_a_job_whose_gcs_server_is_killed_never_stays_running(stack: RayStack, storage: Object | None) -> None:
    name = "volume" if storage else "memory"
    made = sample_job(name, "sleep 600")
    if storage:
        made["spec"]["rayClusterSpec"]["gcsFaultToleranceOptions"] = storage
    stack.apply(made)
    runs(stack, name)
    head = stack.head(status_of(stack, name)["rayClusterName"])["metadata"]["name"]
    servers = [pid for pid in processes_of(head) if b"gcs_server" in _program(pid)]
    assert servers
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    status = ends(stack, name, "Failed")
    # The driver went with its head. A GCS that remembers says so; of one that does not, nobody can know.
    expected = {("AppFailed", "FAILED"), ("OutcomeUnknown", "")} if storage else {("OutcomeUnknown", "")}
    assert (status["reason"], status.get("jobStatus", "")) in expected
    stack.rayward("delete", "rayjob", name)


def test_a_submitter_that_is_killed_submits_nothing_again(stack: RayStack) -> None:
    stack.apply(sample_job("resumes", "bash -c 'echo began; sleep 20; echo ended'", submissionMode="K8sJobMode"))
    runs(stack, "resumes")
    (first,) = _submitters(stack, "resumes")
    stack.client.delete(PODS, first, "default", grace_period_seconds=0)
    eventually(lambda: first not in _submitters(stack, "resumes") and bool(_submitters(stack, "resumes")), PATIENCE)
    status = ends(stack, "resumes")
    eventually(lambda: bool(status_of(stack, "resumes")["attempts"][0].get("logTail")), PATIENCE)
    (row,) = status_of(stack, "resumes")["attempts"]
    lines = row["logTail"].splitlines()
    assert (status["jobStatus"], lines.count("began"), lines.count("ended")) == ("SUCCEEDED", 1, 1)
    stack.rayward("delete", "rayjob", "resumes")


def test_run_uploads_a_folder_and_ends_with_the_result(stack: RayStack, tmp_path: Path) -> None:
    # more than one Secret holds
    (tmp_path / "noise").write_bytes(os.urandom(2_500_000))
    (tmp_path / "helper.py").write_text("import os\ndef answer(): return f'answer {os.path.getsize(\"noise\")}'\n")
    (tmp_path / "main.py").write_text(
        "import sys, ray, helper\n"
        "ray.init(log_to_driver=False)\n"
        "print(ray.get(ray.remote(helper.answer).remote()), flush=True)\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    run = ["run", "--image", "rayproject/ray:2.60.0", "--working-dir", str(tmp_path)]
    said = stack.rayward(*run, "--name", "ran", "--", "python", "main.py", "0")
    assert len(_codes(stack)) == 3
    assert "answer 2500000" in said.splitlines()
    eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, PATIENCE)
    assert "answer 2500000" in stack.rayward("logs", "rayjob/ran").splitlines()
    # the retry runs on a new cluster, where the code is too
    done = stack.program(*run, "--name", "failed", "--retries", "1", "--", "python", "main.py", "5")
    assert done.returncode == 8, done.stderr
    assert done.stdout.splitlines().count("answer 2500000") == 2
    assert "AppFailed (exit code 5)" in stack.rayward("get", "rayjobs")
    again = stack.rayward("rerun", "ran", "--detach")
    assert again == "rayjob.ray.io/ran-2\n"
    assert "suspended before it ran" in stack.rayward("stop", "ran-2")
    stack.rayward("delete", "rayjob", "ran", "failed", "ran-2")
    eventually(lambda: not _codes(stack), PATIENCE)


def _kill_head(stack: RayStack, cluster: str) -> None:
    processes = processes_of(stack.head(cluster)["metadata"]["name"])
    # All at once: whoever sees the driver die before him still says that the job failed.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in processes:
            # Some end with the one that was killed before them.
            with suppress(ProcessLookupError):
                os.kill(pid, number)


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
