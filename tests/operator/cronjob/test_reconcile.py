"""A schedule on a server."""

from __future__ import annotations

import pytest

from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS, RESOURCE_QUOTAS
from tests.operator.job.conftest import embedded_kubeconfig, ray, real_kubeconfig
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.stage import condition

pytestmark = pytest.mark.anyio

__all__ = ["embedded_kubeconfig", "ray", "real_kubeconfig"]


async def test_ticks_make_jobs_that_end_and_old_ones_go(ray: JobStage) -> None:
    spec = {
        "schedule": "@every 2s",
        "jobTemplate": ray_job(shutdownAfterJobFinishes=True)["spec"],
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
    }
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": "tick"}, "spec": spec}
    async with ray.operator():
        await ray.client.create(RAY_CRON_JOBS, manifest, ray.namespace)

        async def twice() -> bool:
            return len(set(ray.heads.runs())) >= 2

        await ray.eventually(twice)
        await ray.client.patch(RAY_CRON_JOBS, "tick", {"spec": {"suspend": True}}, PatchType.MERGE, ray.namespace)

        async def one_left() -> bool:
            jobs = await ray.objects(RAY_JOBS)
            return len(jobs) == 1 and jobs[0]["status"].get("jobDeploymentStatus") == "Complete"

        await ray.eventually(one_left)
        (job,) = await ray.objects(RAY_JOBS)
        assert job["metadata"]["labels"]["ray.io/cronjob-name"] == "tick"
        assert job["metadata"]["annotations"]["ray.io/cronjob-scheduled-timestamp"].endswith("Z")
        asking = {"metadata": {"annotations": {"rayward.dev/run-now": "1"}}}
        await ray.client.patch(RAY_CRON_JOBS, "tick", asking, PatchType.MERGE, ray.namespace)

        async def asked() -> bool:
            found = await ray.client.get(RAY_CRON_JOBS, "tick", ray.namespace)
            done = "rayward.dev/run-now" not in (found["metadata"].get("annotations") or {})
            return done and any(name.startswith("tick-run-") for name in ray.heads.runs())

        await ray.eventually(asked)
    runs = ray.heads.runs()
    assert len(runs) == len(set(runs))


async def test_what_of_a_schedule_does_not_do_what_it_seems_to_is_told(ray: JobStage) -> None:
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": ray_job(jobId="same")["spec"]}
    metadata = {"name": "tick", "annotations": {"rayward.dev/run-nov": "1"}}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": metadata, "spec": spec}
    async with ray.operator():
        await ray.client.create(RAY_CRON_JOBS, manifest, ray.namespace)
        await ray.until_reasons("UnexpectedRayCronJobSpec")
        (told,) = [event for event in await ray.objects(EVENTS) if event["reason"] == "UnexpectedRayCronJobSpec"]
        assert "did you mean rayward.dev/run-now?" in told["message"]
        assert "spec.jobTemplate.jobId" in told["message"]


async def test_jobs_for_another_operator_are_made_on_schedule_and_left_to_it(ray: JobStage) -> None:
    """As KubeRay does: ``managedBy`` of the template is of the RayJobs."""
    template = ray_job(managedBy="kueue.x-k8s.io/multikueue")["spec"]
    metadata = {"name": "tick", "annotations": {"rayward.dev/run-now": "1"}}
    spec = {"schedule": "0 0 29 2 *", "jobTemplate": template}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": metadata, "spec": spec}
    async with ray.operator():
        await ray.client.create(RAY_CRON_JOBS, manifest, ray.namespace)

        async def made() -> bool:
            return len(await ray.objects(RAY_JOBS)) == 1

        await ray.eventually(made)
        await ray.create(ray_job(name="ours"))
        await ray.until("Complete", "ours")
        (left,) = [job for job in await ray.objects(RAY_JOBS) if job["metadata"]["name"] != "ours"]
        assert not left.get("status")


async def test_a_job_that_a_quota_forbids_is_reported_and_made_later(ray: JobStage) -> None:
    hard = {"count/rayjobs.ray.io": "0"}
    quota = {"metadata": {"name": "none"}, "spec": {"hard": hard}}
    await ray.client.create(RESOURCE_QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota}, ray.namespace)
    # A real server reads what its controller has counted.
    counted = {"status": {"hard": hard, "used": hard}}
    await ray.client.patch(RESOURCE_QUOTAS, "none", counted, PatchType.MERGE, ray.namespace, subresource="status")

    async def counts() -> bool:
        try:
            await ray.client.create(RAY_JOBS, ray_job(name="probe"), ray.namespace, dry_run=True)
        except Forbidden:
            return True
        return False

    await ray.eventually(counts)
    spec = {"schedule": "0 0 29 2 *", "jobTemplate": ray_job()["spec"]}
    metadata = {"name": "tick", "annotations": {"rayward.dev/run-now": "1"}}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": metadata, "spec": spec}
    async with ray.operator():
        await ray.client.create(RAY_CRON_JOBS, manifest, ray.namespace)

        async def told() -> bool:
            said = condition(await ray.client.get(RAY_CRON_JOBS, "tick", ray.namespace), "Reconciling")
            return said.get("reason") == "FailedToCreateRayJob" and "exceeded quota: none" in said["message"]

        await ray.eventually(told)
        await ray.until_reasons("FailedToCreateRayJob")
        await ray.client.delete(RESOURCE_QUOTAS, "none", ray.namespace)

        async def made() -> bool:
            said = condition(await ray.client.get(RAY_CRON_JOBS, "tick", ray.namespace), "Reconciling")
            return said.get("status") == "False" and len(ray.heads.runs()) == 1

        await ray.eventually(made)
