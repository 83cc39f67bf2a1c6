"""Jobs on a cluster that is somebody else's: what is suspended or deleted does not run there."""

from __future__ import annotations

from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import JOBS
from rayward.kube.runtime.backoff import Backoff
from rayward.operator.ray import jobprobe
from tests.operator.job.stage import NAME, JobStage, ray_job
from tests.operator.stage import condition, manifest

pytestmark = pytest.mark.anyio

_CLUSTER: Final = "plain"
_SOON: Final = {"annotations": {"rayward.dev/status-check-timeout": "2s"}}
"""A silence is soon too long."""


def _job(entrypoint: str = "run", **spec: Any) -> dict[str, Any]:
    return ray_job(entrypoint, clusterSelector={"ray.io/cluster": _CLUSTER}, **spec)


async def _cluster(ray: JobStage) -> None:
    await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)


async def _is_gone(ray: JobStage) -> bool:
    return await ray.objects(RAY_JOBS) == []


def _runs(ray: JobStage) -> bool:
    listed = ray.heads.of(_CLUSTER).answer("GET", "/api/jobs/", {}, None).body
    return b'"RUNNING"' in listed or b'"PENDING"' in listed


async def _stops(ray: JobStage) -> None:
    async def stopped() -> bool:
        return not _runs(ray)

    await ray.eventually(stopped)


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poller that looks again only when it is told to."""
    for pause in ("_EXPECTING", "_SLOWEST"):
        monkeypatch.setattr(jobprobe, pause, 600.0)


@pytest.fixture
def discouraged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poller that leaves a head alone that did not answer, until it is told to look."""
    monkeypatch.setattr(jobprobe, "_BACKOFF", Backoff(600.0, 600.0))


async def _submits_while_it_goes(ray: JobStage) -> None:
    """The submitter's pod submits after the last look at the head, while its Job is being deleted."""
    submitter = await ray.submitter()

    async def goes() -> bool:
        return "deletionTimestamp" in (await ray.client.get(JOBS, NAME, ray.namespace))["metadata"]

    await ray.eventually(goes)
    assert ray.submit(submitter, "run").status == 200
    await ray.client.patch(JOBS, NAME, {"metadata": {"finalizers": None}}, PatchType.MERGE, ray.namespace)


async def _held(ray: JobStage) -> None:
    await ray.submitter()
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    await ray.client.patch(JOBS, NAME, held, PatchType.MERGE, ray.namespace)


@pytest.mark.usefixtures("lazy")
async def test_what_a_submitter_handed_over_while_it_was_deleted_is_stopped_before_the_job_is_suspended(
    ray: JobStage,
) -> None:
    async with ray.operator():
        await _cluster(ray)
        await ray.create(_job(submissionMode="K8sJobMode"))
        await _held(ray)
        await ray.edit(suspend=True)
        await _submits_while_it_goes(ray)
        await ray.until("Suspended")
        assert len(ray.heads.runs()) == 1
        assert not _runs(ray)


@pytest.mark.usefixtures("lazy")
async def test_what_a_submitter_handed_over_while_it_was_deleted_is_stopped_before_the_job_is_gone(
    ray: JobStage,
) -> None:
    async with ray.operator():
        await _cluster(ray)
        await ray.create(_job(submissionMode="K8sJobMode"))
        await _held(ray)
        await ray.client.delete(RAY_JOBS, NAME, ray.namespace)
        await _submits_while_it_goes(ray)
        await ray.eventually(lambda: _is_gone(ray))
        assert len(ray.heads.runs()) == 1
        assert not _runs(ray)


@pytest.mark.usefixtures("lazy")
async def test_what_a_submitter_handed_over_after_the_deadline_is_stopped(ray: JobStage) -> None:
    async with ray.operator():
        await _cluster(ray)
        await ray.create(_job(submissionMode="K8sJobMode", activeDeadlineSeconds=600))
        await _held(ray)
        await ray.edit(activeDeadlineSeconds=1)
        await _submits_while_it_goes(ray)
        assert (await ray.until("Failed"))["status"]["reason"] == "DeadlineExceeded"
        await _stops(ray)


async def test_a_job_resumes_on_a_cluster_that_took_the_name_of_the_one_before(ray: JobStage) -> None:
    async with ray.operator():
        await _cluster(ray)
        await ray.create(_job())
        await ray.until_job("RUNNING")
        await ray.edit(suspend=True)
        await ray.until("Suspended")
        await ray.client.delete(RAY_CLUSTERS, _CLUSTER, ray.namespace)

        async def gone() -> bool:
            return not await ray.clusters() and not await ray.pods()

        await ray.eventually(gone)
        await _cluster(ray)
        await ray.edit(suspend=False, entrypoint="succeed")
        await ray.until("Complete")
        assert len(ray.heads.runs()) == 2


async def _suspended_in_silence(ray: JobStage) -> None:
    await _cluster(ray)
    await ray.create(_job(metadata=_SOON))
    await ray.until_job("RUNNING")
    ray.heads.of(_CLUSTER).down = True
    await ray.edit(suspend=True)
    await ray.until("Suspended")


async def test_a_job_suspended_while_its_head_was_silent_is_stopped_when_that_answers_again(ray: JobStage) -> None:
    async with ray.operator():
        await _suspended_in_silence(ray)
        message = condition(await ray.job(), "Suspended")["message"]
        assert "may still run on RayCluster plain" in message
        ray.heads.of(_CLUSTER).down = False
        await _stops(ray)

        async def settled() -> bool:
            return "may still run" not in condition(await ray.job(), "Suspended")["message"]

        await ray.eventually(settled)
        await ray.edit(suspend=False, entrypoint="succeed")
        await ray.until("Complete")
        assert len(ray.heads.runs()) == 2


async def test_a_resumed_job_waits_until_the_attempt_before_is_stopped(ray: JobStage) -> None:
    async with ray.operator():
        await _suspended_in_silence(ray)
    # another operator goes on: what is owed is on record
    async with ray.operator():
        await ray.edit(suspend=False)

        async def waits() -> bool:
            return "a new attempt starts after that" in condition(await ray.job(), "Suspended")["message"]

        await ray.eventually(waits)
        ray.heads.of(_CLUSTER).down = False
        await ray.until_job("RUNNING")
        first, second = ray.heads.runs()
        assert (await ray.job())["status"]["jobId"] == second
        assert b'"STOPPED"' in ray.heads.of(_CLUSTER).answer("GET", f"/api/jobs/{first}", {}, None).body


@pytest.mark.usefixtures("discouraged")
async def test_a_job_deleted_after_it_was_suspended_in_silence_is_stopped_first(ray: JobStage) -> None:
    async with ray.operator():
        await _suspended_in_silence(ray)
        ray.heads.of(_CLUSTER).down = False
        await ray.client.delete(RAY_JOBS, NAME, ray.namespace)
        await ray.eventually(lambda: _is_gone(ray))
        assert not _runs(ray)


async def test_a_job_on_a_suspended_cluster_goes_at_once_when_it_is_deleted(ray: JobStage) -> None:
    """There is no head to wait for, and nothing that could run."""
    async with ray.operator():
        await _cluster(ray)
        await ray.create(_job())
        await ray.until_job("RUNNING")
        await ray.client.patch(RAY_CLUSTERS, _CLUSTER, {"spec": {"suspend": True}}, PatchType.MERGE, ray.namespace)

        async def headless() -> bool:
            return not await ray.pods()

        await ray.eventually(headless)
        await ray.client.delete(RAY_JOBS, NAME, ray.namespace)
        await ray.eventually(lambda: _is_gone(ray))


async def test_a_fixed_job_id_that_a_resume_would_find_taken_is_told_when_the_job_is_suspended(ray: JobStage) -> None:
    async with ray.operator():
        await _cluster(ray)
        await ray.create(_job(jobId="mine"))
        await ray.until_job("RUNNING")
        await ray.edit(suspend=True)
        found = await ray.until("Suspended")
        assert "write another spec.jobId, or none" in condition(found, "Suspended")["message"]
        await ray.until_reasons("JobIdTaken")
        await ray.edit(suspend=False, jobId="yours", entrypoint="succeed")
        await ray.until("Complete")
        assert ray.heads.runs() == ["mine", "yours"]
