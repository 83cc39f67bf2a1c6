"""Who submits: the operator, a Job, a sidecar or the user; and clusters that are there already."""

from __future__ import annotations

from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import JOBS, PODS, SECRETS
from rayward.operator.ray import jobprobe
from tests.operator.job.podlogs import logging
from tests.operator.job.stage import NAME, JobStage, ray_job
from tests.operator.stage import manifest, template

pytestmark = pytest.mark.anyio

_AT = "2026-01-01T00:00:00Z"


async def _fail_submitter(ray: JobStage) -> None:
    failed = [
        {"type": kind, "status": "True", "lastTransitionTime": _AT, "lastProbeTime": _AT, "message": "no such image"}
        for kind in ("FailureTarget", "Failed")
    ]
    status = {"startTime": _AT, "failed": 3, "conditions": failed}
    await ray.client.patch(JOBS, NAME, {"status": status}, PatchType.MERGE, ray.namespace, subresource="status")


async def test_a_kubernetes_job_submits(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(submissionMode="K8sJobMode"))
        submitter = await ray.submitter()
        pod = submitter["spec"]["template"]["spec"]
        assert submitter["spec"]["backoffLimit"] == 2
        assert pod["containers"][0]["name"] == "ray-job-submitter"
        assert pod["restartPolicy"] == "Never"
        assert ray.submit(submitter, "succeed").status == 200
        found = await ray.until("Complete")
        assert found["status"]["jobStatus"] == "SUCCEEDED"
        assert submitter["metadata"]["labels"]["ray.io/originated-from-crd"] == "RayJob"


async def test_a_submitter_that_fails_before_it_submitted_is_no_failure_of_the_job(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(submissionMode="K8sJobMode"))
        await ray.submitter()
        await _fail_submitter(ray)
        found = await ray.until("Failed")
        assert found["status"]["reason"] == "SubmissionFailed"
        assert "no such image" in found["status"]["message"]
        assert found["status"].get("jobStatus", "") == ""


async def test_what_ray_said_before_the_submitters_end_does_not_tell_what_it_submitted(
    ray: JobStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last look at the head was before the submission, and the next one is far away."""
    for pause in ("_EXPECTING", "_SLOWEST"):
        monkeypatch.setattr(jobprobe, pause, 600.0)
    async with ray.operator():
        await ray.create(ray_job("run", submissionMode="K8sJobMode"))
        assert ray.submit(await ray.submitter(), "run").status == 200
        await _fail_submitter(ray)

        async def seen() -> bool:
            status = (await ray.job())["status"]
            assert status["jobDeploymentStatus"] == "Running", status
            return status.get("jobStatus", "") in ("PENDING", "RUNNING")

        await ray.eventually(seen)


async def test_a_submitter_that_dies_after_ray_took_the_job_changes_nothing(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run", submissionMode="K8sJobMode"))
        submitter = await ray.submitter()
        assert ray.submit(submitter, "run").status == 200
        found = await ray.until_job("RUNNING")
        await _fail_submitter(ray)
        head = ray.heads.of(found["status"]["rayClusterName"])
        assert head.answer("POST", f"/api/jobs/{found['status']['jobId']}/stop", {}, b"").status == 200
        found = await ray.until("Complete")
        assert (found["status"]["jobStatus"], found["status"].get("failed", 0)) == ("STOPPED", 0)
        assert await ray.condition("Failed") == ("True", "Stopped")


async def _submitted(ray: JobStage, entrypoint: str = "run") -> str:
    """A job that its submitter handed to Ray, and a pod of that submitter; the job's id."""
    await ray.create(ray_job(entrypoint, submissionMode="K8sJobMode"))
    pod = {"metadata": {"name": "submits", "labels": {"job-name": NAME}}, **template("ray-job-submitter")}
    await ray.client.create(PODS, pod, ray.namespace)
    assert ray.submit(await ray.submitter(), entrypoint).status == 200
    return str((await ray.until_job("RUNNING"))["status"]["jobId"])


LINE: Final = "-------\n"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("before", "failures"), [("out\n", 0), ("out\n", 1), ("x" * 50_000 + "\n", 0)], ids=["", "late", "long lines"]
)
async def test_what_ray_told_the_submitter_counts_when_the_head_is_lost(
    ray: JobStage, before: str, failures: int
) -> None:
    job_id = ""
    client, logs = logging(ray.client, lambda: f"{before * 100}\n{LINE}Job '{job_id}' succeeded\n{LINE}\n", failures)
    async with ray.operator(client):
        job_id = await _submitted(ray)
        await ray.finish(NAME)
        ray.heads.of((await ray.job())["status"]["rayClusterName"]).restart()
        found = await ray.until("Complete")
        assert (found["status"]["jobStatus"], logs.reads > failures) == ("SUCCEEDED", True)
        (row,) = found["status"]["attempts"]
        assert row["logTail"].endswith(f"Job '{job_id}' succeeded\n{LINE}\n")


@pytest.mark.usefixtures("patient")
async def test_a_submitter_that_is_about_to_say_the_end_is_waited_for(ray: JobStage) -> None:
    job_id, said = "", ""
    client, logs = logging(ray.client, lambda: said)

    async def heard() -> bool:
        return logs.reads > 1

    async with ray.operator(client):
        job_id = await _submitted(ray)
        ray.heads.of((await ray.job())["status"]["rayClusterName"]).restart()
        await ray.eventually(heard)
        said = f"Job '{job_id}' failed\n"
        found = await ray.until("Failed")
        assert (found["status"]["jobStatus"], found["status"]["reason"]) == ("FAILED", "AppFailed")


async def test_a_sidecar_submits_from_the_heads_own_pod(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(submissionMode="SidecarMode"))
        found = await ray.until("Running")
        name = found["status"]["rayClusterName"]
        cluster = await ray.client.get(RAY_CLUSTERS, name, ray.namespace)
        pod = cluster["spec"]["headGroupSpec"]["template"]["spec"]
        assert [container["name"] for container in pod["containers"]] == ["ray", "ray-job-submitter"]
        assert pod["restartPolicy"] == "Never"
        assert cluster["metadata"]["annotations"]["ray.io/disable-provisioned-head-restart"] == "true"
        body = f'{{"entrypoint": "fail", "submission_id": "{found["status"]["jobId"]}"}}'.encode()
        ray.heads.of(name).answer("POST", "/api/jobs/", {}, body)
        found = await ray.until("Failed")
        assert found["status"]["reason"] == "AppFailed"


async def test_a_user_submits_and_tells_which_job_it_is(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(submissionMode="InteractiveMode"))
        found = await ray.until("Waiting")
        body = b'{"entrypoint": "succeed", "submission_id": "mine"}'
        ray.heads.of(found["status"]["rayClusterName"]).answer("POST", "/api/jobs/", {}, body)
        await ray.edit(jobId="mine")
        found = await ray.until("Complete")
        assert (found["status"]["jobId"], found["status"]["jobStatus"]) == ("mine", "SUCCEEDED")


async def test_two_jobs_share_a_cluster_that_is_there(ray: JobStage) -> None:
    selector: dict[str, Any] = {"clusterSelector": {"ray.io/cluster": "plain"}}
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job(name="one", **selector))
        await ray.create(ray_job("run", name="two", **selector))
        await ray.until("Complete", "one")
        await ray.until_job("RUNNING", "two")
        await ray.edit("two", suspend=True)
        await ray.until("Suspended", "two")
        assert await ray.clusters() == ["plain"], "the cluster stays"
        assert b'"STOPPED"' in ray.heads.of("plain").answer("GET", "/api/jobs/", {}, None).body
        await ray.edit("two", suspend=False, entrypoint="succeed")
        found = await ray.until("Complete", "two")
        assert [row["reason"] for row in found["status"]["attempts"]] == ["Suspended", "Succeeded"]
    assert len(ray.heads.runs()) == len(set(ray.heads.runs())) == 3


async def test_an_id_that_another_job_has_is_not_taken_for_ones_own(ray: JobStage) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        selector: dict[str, Any] = {"clusterSelector": {"ray.io/cluster": "plain"}, "jobId": "same"}
        await ray.create(ray_job(name="one", **selector))
        await ray.until("Complete", "one")
        await ray.create(ray_job(name="two", **selector))
        found = await ray.until("Failed", "two")
        assert found["status"]["reason"] == "SubmissionFailed"
        assert "write another spec.jobId" in found["status"]["message"]


async def test_a_dashboard_that_asks_for_a_token_gets_it(ray: JobStage) -> None:
    spec = ray_job()
    spec["spec"]["rayClusterSpec"]["authOptions"] = {"mode": "token", "secretName": "mine"}
    ray.heads.token = "secret"
    secret = {"metadata": {"name": "mine"}, "stringData": {"auth_token": "secret"}}
    await ray.client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret}, ray.namespace)
    async with ray.operator():
        await ray.create(spec)
        await ray.until("Complete")
