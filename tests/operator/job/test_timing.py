"""What comes before the start and after the end: a deadline, suspension while pods start, deletion rules."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds.resources import RAY_JOBS
from tests.operator.job.stage import JobStage, cluster_spec, ray_job
from tests.operator.stage import condition, group

pytestmark = pytest.mark.anyio


async def test_a_job_that_does_not_start_in_time_fails_and_a_retry_has_its_own_time(ray: JobStage) -> None:
    ray.kubelet.starts = lambda pod: False
    async with ray.operator():
        await ray.create(ray_job("run", preRunningDeadlineSeconds=2, backoffLimit=1))
        found = await ray.until("Failed")
        assert found["status"]["reason"] == "PreRunningDeadlineExceeded"
        assert "2 s (preRunningDeadlineSeconds)" in condition(found, "Failed")["message"]
        rows = found["status"]["attempts"]
        assert [row["reason"] for row in rows] == ["PreRunningDeadlineExceeded"] * 2
        assert len({row["rayClusterName"] for row in rows}) == 2
    assert ray.heads.runs() == []


async def test_a_job_that_runs_has_no_deadline_of_its_start(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run", preRunningDeadlineSeconds=600))
        await ray.until_job("RUNNING")
        await ray.edit(preRunningDeadlineSeconds=1, activeDeadlineSeconds=2)
        found = await ray.until("Failed")
        assert found["status"]["reason"] == "DeadlineExceeded"


async def test_a_job_is_suspended_while_its_pods_start(ray: JobStage) -> None:
    ray.kubelet.starts = lambda pod: False

    async def starts() -> bool:
        return bool(await ray.pods())

    async with ray.operator():
        await ray.create(ray_job("run"))
        await ray.eventually(starts)
        await ray.edit(suspend=True)
        found = await ray.until("Suspended")
        assert await ray.clusters() == []
        assert [(row["reason"], row.get("jobStatus", "")) for row in found["status"]["attempts"]] == [("Suspended", "")]
        ray.kubelet.starts = lambda pod: True
        await ray.edit(suspend=False, entrypoint="succeed")
        found = await ray.until("Complete")
        assert [row["reason"] for row in found["status"]["attempts"]] == ["Suspended", "Succeeded"]
    assert len(ray.heads.runs()) == 1


async def test_rules_delete_the_workers_then_the_job_itself(ray: JobStage) -> None:
    rules: list[dict[str, Any]] = [
        {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 0}},
        {"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 600}},
    ]
    spec = cluster_spec(workerGroupSpecs=[group(replicas=1)])

    async def head_alone() -> bool:
        return len(await ray.pods()) == 1 and len(await ray.clusters()) == 1

    async def gone() -> bool:
        return not await ray.objects(RAY_JOBS) and not await ray.clusters()

    async with ray.operator():
        await ray.create(ray_job(rayClusterSpec=spec, deletionStrategy={"deletionRules": rules}))
        await ray.until("Complete")
        await ray.eventually(head_alone)
        assert len(await ray.objects(RAY_JOBS)) == 1
        # Its time counts from the end, and has come.
        rules[1]["condition"]["ttlSeconds"] = 1
        await ray.edit(deletionStrategy={"deletionRules": rules})
        await ray.eventually(gone)


async def test_a_job_that_another_controller_manages_is_left_alone(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(name="theirs", managedBy="kueue.x-k8s.io/multikueue"))
        await ray.create(ray_job(name="ours", managedBy="ray.io/kuberay-operator"))
        await ray.until("Complete", "ours")
        theirs = await ray.job("theirs")
        assert (theirs.get("status") or {}, theirs["metadata"].get("finalizers")) == ({}, None)
        assert [name for name in await ray.clusters() if name.startswith("theirs")] == []
