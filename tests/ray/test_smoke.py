"""The least that must be true of real Ray on every run of the tests: a cluster computes, jobs end, services upgrade."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Generator

import pytest
from demo.load import Load

from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from tests.ray.breaking import CASES, MODULES
from tests.ray.jobs import edit, ends, job_on, runs, status_of
from tests.ray.playing import play
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack, sample_cluster
from tests.ray.variants import tuned
from tests.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("real-ray")]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    with RayStack(tmp_path_factory.mktemp("smoke") / "stack") as running:
        yield running


@pytest.mark.parametrize("upgrades", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_upgrades_lose_no_request(stack: RayStack, upgrades: int) -> None:
    service = HelloService(stack, "few", rayClusterDeletionDelaySeconds=0)
    service.serves("1")
    address = service.address
    with Load(address.host, address.shell_port, rate=20) as load:
        for release in range(2, upgrades + 2):
            before = service.active
            service.set_release(str(release))
            eventually(lambda new=str(release): load.tally.answered[new] > 0, PATIENCE)
            eventually(lambda old=before: old not in service.clusters(), PATIENCE)
            assert load.tally.answered[str(release - 1)] > 0
        tally = load.stop()

    print(f"{upgrades} upgrades, {tally.sent} requests, {len(tally.lost)} lost")
    assert tally.lost == []
    service.delete()


def test_up_says_where_the_metrics_of_the_operator_are(stack: RayStack) -> None:
    told = stack.program("up")
    assert told.returncode == 0, told.stderr
    (address,) = re.findall(r"^metrics of the operator: (\S+)$", told.stderr, re.MULTILINE)

    def answers() -> bool:
        with urllib.request.urlopen(address, timeout=30) as answer:
            return b"rayward_" in answer.read()

    eventually(answers)


_BROKEN = (
    "module that raises",
    "missing dependency",
    "builder that raises",
    "import path without attribute",
    "deployment that is not there",
    "replica that can never fit",
)
"""Those whose time does not depend on how soon this machine starts processes; all of them are in ``make soak``."""


def test_releases_that_cannot_work_say_why_and_lose_no_request(stack: RayStack) -> None:
    service = HelloService(stack, "broken", MODULES, serveConfigV2=tuned(), rayClusterDeletionDelaySeconds=0)
    service.serves("1 plain")
    assert stack.rayward("get", "url", "broken") == f"http://{service.address}\n"
    assert stack.rayward("get", "token", "broken").strip()
    shown = stack.program("logs", "rayservice/broken", "--tail", "200")
    assert shown.returncode == 0, shown.stderr
    assert f"==> {service.active}/hello/Tuned/" in shown.stderr
    assert "Tuned" in shown.stdout
    for case in CASES:
        if case.name in _BROKEN:
            play(service, case)
    service.delete()


@pytest.fixture(scope="module")
def cluster(stack: RayStack) -> Generator[str]:
    stack.apply(sample_cluster("smoke", 1))
    stack.becomes_ready("smoke", pods=2)
    yield "smoke"
    stack.rayward("delete", "raycluster", "smoke")


def test_a_task_runs_on_every_node_of_a_cluster(stack: RayStack, cluster: str) -> None:
    assert len({network for _, _, network in stack.everywhere(cluster)}) == 2


def test_jobs_on_a_cluster_that_is_there_end_as_ray_says(stack: RayStack, cluster: str) -> None:
    stack.apply(
        job_on(cluster, "good", "true"),
        job_on(cluster, "bad", "exit 7"),
        job_on(cluster, "stops", "sleep 600"),
        job_on(cluster, "late", "sleep 600"),
    )
    assert ends(stack, "good")["jobStatus"] == "SUCCEEDED"
    failed = ends(stack, "bad", "Failed")
    assert (failed["reason"], failed["attempts"][0]["exitCode"]) == ("AppFailed", 7)
    runs(stack, "stops")
    assert "stopped" in stack.rayward("stop", "stops")
    assert ends(stack, "stops")["jobStatus"] == "STOPPED"
    runs(stack, "late")
    edit(stack, "late", activeDeadlineSeconds=1)
    late = ends(stack, "late", "Failed")
    assert late["reason"] == "DeadlineExceeded"
    eventually(lambda: _ray_says(stack, cluster, late["jobId"]) == "STOPPED", PATIENCE)
    assert stack.pods(cluster), "the cluster stays"
    stack.rayward("delete", "rayjob", "good", "bad", "stops", "late")


def test_a_user_submits_and_a_schedule_ticks(stack: RayStack, cluster: str) -> None:
    template = job_on(cluster, "", "true")["spec"]
    spec = {"schedule": "@every 2s", "concurrencyPolicy": "Forbid", "jobTemplate": template}
    cron = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": "tick"}, "spec": spec}
    stack.apply(job_on(cluster, "interactive", submissionMode="InteractiveMode"), cron)
    eventually(lambda: status_of(stack, "interactive").get("jobDeploymentStatus") == "Waiting", PATIENCE)
    submit = ["ray", "job", "submit", "--no-wait", "--submission-id", "mine", "--", "true"]
    stack.rayward("exec", stack.head(cluster)["metadata"]["name"], "-c", "ray-head", "--", *submit)
    edit(stack, "interactive", jobId="mine")
    assert ends(stack, "interactive")["jobStatus"] == "SUCCEEDED"

    def ticked() -> bool:
        found = stack.client.list(RAY_JOBS, "default", label_selector="ray.io/cronjob-name=tick").items
        return any((job.get("status") or {}).get("jobStatus") == "SUCCEEDED" for job in found)

    eventually(ticked, PATIENCE)
    stack.rayward("delete", "rayjob", "interactive")
    stack.client.delete(RAY_CRON_JOBS, "tick", "default")
    eventually(lambda: not stack.client.list(RAY_JOBS, "default").items, PATIENCE)


def _ray_says(stack: RayStack, cluster: str, job_id: str) -> str:
    asking = f"from ray.job_submission import JobSubmissionClient as C; print(C().get_job_status({job_id!r}).value)"
    return stack.run(cluster, asking).strip().splitlines()[-1]
