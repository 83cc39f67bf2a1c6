"""Odd turns in a RayJob's life: names that others have, edits at the wrong moment, clusters that are not there."""

from __future__ import annotations

from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS, JOBS, RESOURCE_QUOTAS, SERVICES, Resource
from tests.operator.job.stage import NAME, JobStage, cluster_spec, ray_job
from tests.operator.stage import Object, condition, manifest, template

pytestmark = pytest.mark.anyio

ON_PLAIN: Final[dict[str, Any]] = {"clusterSelector": {"ray.io/cluster": "plain"}}


def _plain_job(name: str) -> Object:
    """A Kubernetes Job that has nothing to do with Ray."""
    pod = template(restartPolicy="Never")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": pod}}


EDITS: Final[dict[str, Any]] = {
    "entrypoint": "succeed",
    "entrypointNumCpus": 2,
    "entrypointNumGpus": 1,
    "entrypointResources": '{"custom": 1}',
    "jobId": "another",
    "metadata": {"team": "b"},
    "rayClusterSpec": cluster_spec("rayproject/ray:2"),
    "runtimeEnvYAML": "env_vars: {A: b}",
    "submissionMode": "K8sJobMode",
    "submitterConfig": {"backoffLimit": 1},
    "submitterPodTemplate": {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "mine", "image": "my/ray:1"}]},
    },
}
"""Another value for each field that an attempt keeps to its end."""


async def _says(ray: JobStage, kind: str, reason: str, *words: str, name: str = NAME) -> None:
    async def said() -> bool:
        found = condition(await ray.job(name), kind)
        return found.get("reason") == reason and all(word in found["message"] for word in words)

    await ray.eventually(said)


async def test_every_field_that_waits_for_the_next_attempt_is_named(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run"))
        before = (await ray.until_job("RUNNING"))["status"]
        await ray.edit(**EDITS)
        names = [f"spec.{field}" for field in EDITS if field != "rayClusterSpec"]
        assert len(names) == 10
        named = (*names[:9], "spec.rayClusterSpec.headGroupSpec", "and 1 more")
        await _says(ray, "SpecInUse", "EditIgnored", *named, f"rayward suspend rayjob/{NAME}")
        await ray.until_reasons("EditIgnored")
        after = (await ray.job())["status"]
        assert (after["jobId"], after["rayClusterName"]) == (before["jobId"], before["rayClusterName"])
        await ray.edit(suspend=True)
        await ray.until("Suspended")
        await ray.edit(suspend=False, submissionMode="HTTPMode", submitterConfig=None, submitterPodTemplate=None)
        found = await ray.until("Complete")
        assert (found["status"]["jobId"], condition(found, "SpecInUse")["reason"]) == ("another", "AsWritten")
    assert len(ray.heads.runs()) == 2


async def test_edits_after_the_end_say_that_they_change_nothing(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job())
        await ray.until("Complete")
        await ray.edit(entrypoint="fail")
        await _says(ray, "SpecInUse", "EditIgnored", "spec.entrypoint", f"rayward rerun {NAME}")
        await ray.edit(ttlSecondsAfterFinished=5)
        await _says(ray, "Stalled", "ValidationFailed", "shutdownAfterJobFinishes", "the job has ended")
        await ray.edit(ttlSecondsAfterFinished=None, entrypoint="succeed", suspend=True)
        await _says(ray, "Suspended", "AlreadyEnded")
        await _says(ray, "Stalled", "SpecAccepted")
        await _says(ray, "SpecInUse", "AsWritten")
        await ray.until_reasons("EditIgnored", "InvalidRayJobSpec", "SuspendIgnored")
        assert (await ray.job())["status"]["jobDeploymentStatus"] == "Complete"
    assert len(ray.heads.runs()) == 1


async def test_what_has_no_effect_is_told_in_one_event_of_a_generation(ray: JobStage) -> None:
    unread = {"spec": {"restartPolicy": "Never", "containers": [{"name": "mine", "image": "my/ray:1"}]}}
    manifest = ray_job("run", submitterPodTemplate=unread)
    manifest["metadata"]["annotations"] = {"rayward.dev/status-check-timeot": "5m"}
    async with ray.operator():
        await ray.create(manifest)
        await ray.until_job("RUNNING")
        await ray.until_reasons("UnexpectedRayJobSpec")
        (told,) = [event for event in await ray.objects(EVENTS) if event["reason"] == "UnexpectedRayJobSpec"]
        assert (told["type"], told.get("count", 1)) == ("Warning", 1)
        assert "spec.submitterPodTemplate: HTTPMode has no submitter pod" in told["message"]
        assert "did you mean rayward.dev/status-check-timeout?" in told["message"]


async def test_another_mistake_in_a_rejected_spec_is_told(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("  "))
        await ray.until("ValidationFailed")
        await ray.edit(entrypoint="succeed", backoffLimit=-1)

        async def told() -> bool:
            return "spec.backoffLimit" in (await ray.job())["status"]["message"]

        await ray.eventually(told)
        await ray.edit(suspend=True, backoffLimit=None)
        await ray.until("Suspended")
        await ray.edit(suspend=False)
        await ray.until("Complete")


async def test_a_cluster_that_is_mistyped_is_corrected_at_once(ray: JobStage) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job("fail", clusterSelector={"ray.io/cluster": "plian"}))
        await ray.until("Initializing")
        await _says(ray, "Reconciling", "Initializing", "RayCluster plian does not exist", "spec.clusterSelector")
        await ray.edit(**ON_PLAIN, entrypoint="succeed")
        found = await ray.until("Complete")
        assert found["status"]["rayClusterName"] == "plain"
        assert condition(found, "SpecInUse").get("status") != "False"
    assert len(ray.heads.runs()) == 1


async def test_a_cluster_that_is_deleted_under_a_job_ends_it_and_its_successor_gets_nothing(ray: JobStage) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job("run", **ON_PLAIN))
        await ray.until_job("RUNNING")
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)
        found = await ray.until("Failed")
        assert (found["status"]["reason"], found["status"].get("jobStatus", "")) == ("OutcomeUnknown", "")

        async def gone() -> bool:
            return not await ray.clusters() and not await ray.pods()

        await ray.eventually(gone)
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.until_state("ready")
        assert (await ray.job())["status"]["jobDeploymentStatus"] == "Failed"
    assert len(ray.heads.runs()) == 1


@pytest.mark.parametrize(
    ("kind", "spec", "child", "reason"),
    [
        (RAY_CLUSTERS, {}, "RayCluster train-", "FailedToCreateRayCluster"),
        (JOBS, {"submissionMode": "K8sJobMode"}, "Job train", "FailedToCreateRayJobSubmitter"),
    ],
    ids=["cluster", "submitter"],
)
async def test_a_child_that_a_quota_forbids_is_reported_until_it_may_be_made(
    ray: JobStage, kind: Resource, spec: dict[str, Any], child: str, reason: str
) -> None:
    hard = {f"count/{kind.plural}.{kind.group}": "0"}
    quota = {"metadata": {"name": "none"}, "spec": {"hard": hard}}
    await ray.client.create(RESOURCE_QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota}, ray.namespace)
    # A real server reads what its controller has counted.
    counted = {"status": {"hard": hard, "used": hard}}
    await ray.client.patch(RESOURCE_QUOTAS, "none", counted, PatchType.MERGE, ray.namespace, subresource="status")
    bodies = {RAY_CLUSTERS: manifest("probe"), JOBS: _plain_job("probe")}

    async def counts() -> bool:
        try:
            await ray.client.create(kind, bodies[kind], ray.namespace, dry_run=True)
        except Forbidden:
            return True
        return False

    await ray.eventually(counts)
    async with ray.operator():
        await ray.create(ray_job(**spec))

        async def told() -> bool:
            message = condition(await ray.job(), "Reconciling").get("message", "")
            return message.startswith(child) and "cannot be created" in message and "exceeded quota: none" in message

        await ray.eventually(told)
        await ray.until_reasons(reason)
        await ray.client.delete(RESOURCE_QUOTAS, "none", ray.namespace)
        if spec:
            ray.submit(await ray.submitter(), "succeed")
        await ray.until("Complete")
    assert len(ray.heads.runs()) == 1


async def test_a_service_of_somebody_else_is_left_alone(ray: JobStage) -> None:
    """A RayCluster of the RayJob's name has a head service of the name that the RayJob's would have."""
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(NAME, groups=[]), ray.namespace)
        await ray.until_state("ready", NAME)
        await ray.create(ray_job())
        await ray.until("Complete")
        await ray.until_reasons("ServiceNameTaken")
        service = await ray.client.get(SERVICES, f"{NAME}-head-svc", ray.namespace)
        assert service["spec"]["selector"]["ray.io/cluster"] == NAME


async def test_a_kubernetes_job_of_somebody_else_is_no_submitter(ray: JobStage) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    mine = {"metadata": {"name": NAME}, "spec": {"suspend": True, "template": {"spec": pod}}}
    async with ray.operator():
        await ray.client.create(JOBS, {"apiVersion": "batch/v1", "kind": "Job", **mine}, ray.namespace)
        await ray.create(ray_job(submissionMode="K8sJobMode"))
        found = await ray.until("Failed")
        assert found["status"]["reason"] == "SubmissionFailed"
        assert f"Job {ray.namespace}/{NAME} already exists" in found["status"]["message"]
        assert await ray.objects(JOBS), "it stays"


async def test_of_two_jobs_with_one_id_on_one_cluster_one_runs(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(name="one", jobId="same", **ON_PLAIN))
        await ray.create(ray_job(name="two", jobId="same", **ON_PLAIN))
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        ends: list[str] = []

        async def both() -> bool:
            ends[:] = sorted([(await ray.job(name)).get("status", {}).get("jobDeploymentStatus", "") for name in _BOTH])
            return ends == ["Complete", "Failed"]

        await ray.eventually(both)
        found = next(job for job in await ray.objects(RAY_JOBS) if job["status"]["jobDeploymentStatus"] == "Failed")
        assert found["status"]["reason"] == "SubmissionFailed"
        assert "write another spec.jobId" in found["status"]["message"]
    assert ray.heads.runs() == ["same"]


_BOTH: Final = ("one", "two")


@pytest.mark.parametrize(("asked", "rows"), [(None, 1), ("false", 1), ("true", 2)])
async def test_a_job_that_may_have_succeeded_is_tried_again_only_where_that_is_asked_for(
    ray: JobStage, asked: str | None, rows: int
) -> None:
    annotations = {"rayward.dev/retry-unknown-outcome": asked} if asked is not None else {}
    async with ray.operator():
        await ray.create(ray_job("run", backoffLimit=1, metadata={"annotations": annotations}))
        seen: set[str] = set()
        for _ in range(rows):

            async def runs() -> bool:
                status = (await ray.job()).get("status") or {}
                name = status.get("rayClusterName", "")
                return status.get("jobStatus") == "RUNNING" and name not in seen

            await ray.eventually(runs)
            name = (await ray.job())["status"]["rayClusterName"]
            seen.add(name)
            ray.heads.of(name).restart()
        found = await ray.until("Failed")
        ends = [(row["reason"], row.get("jobStatus", "")) for row in found["status"]["attempts"]]
        assert ends == [("OutcomeUnknown", "")] * rows
    assert len(ray.heads.runs()) == rows


async def test_a_job_that_is_suspended_ends_so_though_its_head_is_silent(ray: JobStage) -> None:
    annotations = {"annotations": {"rayward.dev/status-check-timeout": "2s"}}
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job("run", metadata=annotations, **ON_PLAIN))
        await ray.until_job("RUNNING")
        ray.heads.of("plain").down = True
        await ray.edit(suspend=True)
        await ray.until("Suspended")


async def test_a_deadline_before_the_submitter_came_stops_the_submitter(ray: JobStage) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job(submissionMode="K8sJobMode", activeDeadlineSeconds=600, **ON_PLAIN))
        await ray.submitter()
        await ray.edit(activeDeadlineSeconds=1)
        found = await ray.until("Failed")
        assert found["status"]["reason"] == "DeadlineExceeded"

        async def gone() -> bool:
            return not await ray.objects(JOBS)

        await ray.eventually(gone)
    assert ray.heads.runs() == []


async def test_a_suspension_between_attempts_counts_for_none(ray: JobStage) -> None:
    async def has_failed_once() -> bool:
        return ((await ray.job()).get("status") or {}).get("failed", 0) >= 1

    async with ray.operator():
        # So many that the edit comes before the last, however late it is.
        await ray.create(ray_job("fail", backoffLimit=1000))
        await ray.eventually(has_failed_once)
        await ray.edit(suspend=True)
        found = await ray.until("Suspended")
        assert await ray.clusters() == []
        failed = found["status"]["failed"]
        await ray.edit(suspend=False, entrypoint="succeed")
        found = await ray.until("Complete")
        assert (found["status"]["succeeded"], found["status"]["failed"]) == (1, failed)
    runs = ray.heads.runs()
    # The attempt that was stopped, if one had begun, is among the runs and not among the failed.
    assert len(runs) == len(set(runs))
    assert failed + 1 <= len(runs) <= failed + 2


async def test_a_job_that_is_deleted_while_it_is_suspended_is_stopped_on_its_cluster(ray: JobStage) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job("run", **ON_PLAIN))
        await ray.until_job("RUNNING")
        head = ray.heads.of("plain")
        head.down = True
        await ray.edit(suspend=True)
        await ray.until("Suspending")
        await ray.client.delete(RAY_JOBS, NAME, ray.namespace)
        head.down = False

        async def gone() -> bool:
            return await ray.objects(RAY_JOBS) == []

        await ray.eventually(gone)
        assert b'"STOPPED"' in head.answer("GET", "/api/jobs/", {}, None).body
        assert await ray.clusters() == ["plain"]


async def test_a_user_who_resumes_is_waited_for_again(ray: JobStage) -> None:
    def submit(name: str) -> None:
        body = f'{{"entrypoint": "run", "submission_id": "{name}"}}'.encode()
        assert ray.heads.of("plain").answer("POST", "/api/jobs/", {}, body).status == 200

    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        await ray.create(ray_job(submissionMode="InteractiveMode", **ON_PLAIN))
        await ray.until("Waiting")
        await ray.edit(jobId="mine")
        await _says(ray, "Reconciling", "Waiting", "has no job mine yet")
        submit("mine")
        await ray.until_job("RUNNING")
        await ray.edit(jobId="other")
        await _says(ray, "SpecInUse", "EditIgnored", "spec.jobId")
        await ray.edit(jobId="mine", suspend=True)
        await ray.until("Suspended")
        await ray.edit(suspend=False)
        await ray.until("Waiting")
        await _says(ray, "Reconciling", "Waiting", "write its submission id into spec.jobId")
        submit("again")
        await ray.edit(jobId="again")
        found = await ray.until_job("RUNNING")
        assert found["status"]["jobId"] == "again"
