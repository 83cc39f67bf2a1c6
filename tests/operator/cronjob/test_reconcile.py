"""A schedule on a server."""

from __future__ import annotations

import pytest

from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS
from tests.operator.job.conftest import embedded_kubeconfig, ray, real_kubeconfig
from tests.operator.job.stage import JobStage, ray_job

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
