"""RayJobs from their beginning to their end, on a server, with simulated Ray."""

from __future__ import annotations

import pytest

from rayward.kinds.resources import RAY_JOBS
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import SERVICES
from rayward.operator.job.reconcile import JobReconciler
from tests.operator.job.stage import NAME, JobStage, cluster_spec, ray_job
from tests.operator.service import verdicts
from tests.operator.stage import condition, group

pytestmark = pytest.mark.anyio


async def test_a_job_succeeds_and_its_log_is_kept(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(shutdownAfterJobFinishes=True))
        found = await ray.until("Complete")
        status = found["status"]
        assert (status["jobStatus"], status["succeeded"]) == ("SUCCEEDED", 1)
        assert condition(found, "Complete")["status"] == "True"
        assert status["rayJobInfo"]["startTime"]
        # Kueue's PodsReady reads it.
        assert status["rayClusterStatus"]["state"] == "ready"
        assert status["rayClusterStatus"]["head"]["serviceName"] == f"{status['rayClusterName']}-head-svc"

        async def gone() -> bool:
            return not await ray.clusters()

        await ray.eventually(gone)
        (row,) = (await ray.job())["status"]["attempts"]
        assert (row["number"], row["jobStatus"], row["exitCode"]) == (1, "SUCCEEDED", 0)
        assert row["logTail"] == "all good\n"
    assert len(ray.heads.runs()) == 1


async def test_a_job_that_was_suspended_from_birth_runs_when_it_is_resumed(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job(suspend=True))
        found = await ray.until("Suspended")
        assert (await ray.condition("Suspended"), await ray.clusters()) == (("True", "Suspended"), [])
        assert "attempts" not in found["status"]
        await ray.edit(suspend=False)
        found = await ray.until("Complete")
        assert [(row["number"], row["reason"]) for row in found["status"]["attempts"]] == [(1, "Succeeded")]
    assert len(ray.heads.runs()) == 1


async def test_a_job_that_fails_says_why_and_keeps_its_cluster(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("fail"))
        found = await ray.until("Failed")
        status = found["status"]
        assert (status["jobStatus"], status["reason"], status["failed"]) == ("FAILED", "AppFailed", 1)
        assert "exit code 3" in condition(found, "Failed")["message"]
        assert len(await ray.clusters()) == 1
        services = {each["metadata"]["name"] for each in await ray.objects(SERVICES)}
        assert f"{NAME}-head-svc" in services


async def test_tools_see_that_a_job_failed_and_that_an_edit_after_its_end_counts_for_nothing(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("fail"))
        found = await ray.until("Failed")
        health, message = verdicts.argocd(found)
        assert (verdicts.kstatus(found), health) == ("Failed", "Degraded")
        assert "exit code 3" in message
        await ray.edit(entrypoint="succeed")

        async def told() -> bool:
            return await ray.condition("SpecInUse") == ("False", "EditIgnored")

        await ray.eventually(told)
        assert "rayward rerun" in condition(await ray.job(), "SpecInUse")["message"]


async def test_tools_see_that_an_edit_of_a_job_that_succeeded_is_not_run(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("succeed"))
        found = await ray.until("Complete")
        assert (verdicts.kstatus(found), verdicts.argocd(found)[0]) == ("Current", "Healthy")
        assert condition(found, "Complete")["observedGeneration"] == 1
        await ray.edit(entrypoint="fail")

        async def stalled() -> bool:
            return await ray.condition("Stalled") == ("True", "EditIgnored")

        await ray.eventually(stalled)
        found = await ray.job()
        health, message = verdicts.argocd(found)
        assert (verdicts.kstatus(found), health) == ("Failed", "Degraded")
        assert "rayward rerun" in message
        # The outcome is still there, of the generation that ran.
        complete = condition(found, "Complete")
        assert (complete["status"], complete["observedGeneration"]) == ("True", 1)
        await ray.edit(entrypoint="succeed")

        async def runs_as_written() -> bool:
            return verdicts.kstatus(await ray.job()) == "Current"

        await ray.eventually(runs_as_written)
        assert condition(await ray.job(), "Complete")["observedGeneration"] == 3


async def test_the_generation_of_a_job_on_its_way_is_not_called_observed(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run"))
        running = await ray.until("Running")
        assert "observedGeneration" not in running["status"]
        await ray.edit(backoffLimit=-1)

        async def rejected() -> bool:
            return await ray.condition("Stalled") == ("True", "ValidationFailed")

        await ray.eventually(rejected)
        assert (await ray.job())["status"]["observedGeneration"] == 2


async def test_tools_see_that_a_job_runs_and_that_it_is_done(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run", "long"))
        running = await ray.until("Running", "long")
        await ray.create(ray_job("succeed"))
        done = await ray.until("Complete")
    assert [(verdicts.kstatus(found), verdicts.argocd(found)[0]) for found in (running, done)] == [
        ("InProgress", "Progressing"),
        ("Current", "Healthy"),
    ]


async def test_a_client_that_writes_a_running_job_back_edits_nothing(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run", rayClusterSpec=cluster_spec(workerGroupSpecs=[group(replicas=1)])))
        spec = (await ray.until("Running"))["spec"]["rayClusterSpec"]
        for part in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
            part["template"]["metadata"] = {"creationTimestamp": None}
            container = part["template"]["spec"]["containers"][0]
            container |= {"args": [], "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}
        await ray.edit(rayClusterSpec=spec, activeDeadlineSeconds=3600)
        spec["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "rayproject/ray:2"
        await ray.edit(rayClusterSpec=spec)

        async def told() -> bool:
            return await ray.condition("SpecInUse") == ("False", "EditIgnored")

        await ray.eventually(told)
        message = condition(await ray.job(), "SpecInUse")["message"]
        assert message.startswith("spec.rayClusterSpec.headGroupSpec changed")


async def test_every_retry_has_a_cluster_and_a_row_of_its_own(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("fail", backoffLimit=2))
        found = await ray.until("Failed")
        rows = found["status"]["attempts"]
        assert [row["number"] for row in rows] == [1, 2, 3]
        assert len({row["rayClusterName"] for row in rows}) == 3
        assert len(ray.heads.runs()) == 3


@pytest.mark.usefixtures("patient")
async def test_suspend_edit_resume(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run"))
        before = (await ray.until_job("RUNNING"))["status"]
        await ray.edit(suspend=True)
        await ray.until("Suspended")
        assert await ray.clusters() == []
        assert await ray.condition("Suspended") == ("True", "Suspended")
        await ray.edit(entrypoint="succeed", suspend=False, shutdownAfterJobFinishes=True)
        await ray.until("Complete")

        async def gone() -> bool:
            return not await ray.clusters()

        # the log is read before
        await ray.eventually(gone)
        found = await ray.job()
        assert found["status"]["rayClusterName"] != before["rayClusterName"]
        rows = found["status"]["attempts"]
        assert [row["reason"] for row in rows] == ["Suspended", "Succeeded"]
        assert [row["logTail"] for row in rows] == ["working\n", "all good\n"]
        assert rows[0]["jobStatus"] == "STOPPED"
        assert found["status"].get("failed", 0) == 0
    assert len(ray.heads.runs()) == 2


async def test_an_edit_of_a_running_job_changes_nothing_and_says_what_to_do(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run"))
        before = (await ray.until_job("RUNNING"))["status"]
        await ray.edit(entrypoint="succeed", rayClusterSpec=cluster_spec("rayproject/ray:2"))

        async def ignored() -> bool:
            return await ray.condition("SpecInUse") == ("False", "EditIgnored")

        await ray.eventually(ignored)
        found = await ray.job()
        message = condition(found, "SpecInUse")["message"]
        assert "spec.entrypoint" in message
        assert "spec.rayClusterSpec.headGroupSpec" in message
        assert "suspend and resume" in message
        assert found["status"]["rayClusterName"] == before["rayClusterName"]
    assert len(ray.heads.runs()) == 1


async def test_an_invalid_edit_never_touches_a_running_attempt(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run"))
        await ray.until_job("RUNNING")
        await ray.edit(activeDeadlineSeconds=-1)

        async def stalled() -> bool:
            return await ray.condition("Stalled") == ("True", "ValidationFailed")

        await ray.eventually(stalled)
        assert (await ray.job())["status"]["jobDeploymentStatus"] == "Running"
        await ray.edit(activeDeadlineSeconds=None)

        async def accepted() -> bool:
            return await ray.condition("Stalled") == ("False", "SpecAccepted")

        await ray.eventually(accepted)


async def test_a_rejected_spec_recovers_when_it_is_corrected(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("  "))
        found = await ray.until("ValidationFailed")
        assert "spec.entrypoint" in found["status"]["message"]
        await ray.edit(entrypoint="succeed")
        await ray.until("Complete")


async def test_a_head_that_is_lost_in_the_middle_ends_in_an_unknown_outcome(ray: JobStage) -> None:
    async with ray.operator():
        await ray.create(ray_job("run"))
        found = await ray.until_job("RUNNING")
        ray.heads.of(found["status"]["rayClusterName"]).restart()
        found = await ray.until("Failed")
        assert (found["status"]["reason"], found["status"].get("jobStatus", "")) == ("OutcomeUnknown", "")
    assert len(ray.heads.runs()) == 1


async def test_nobody_asks_for_a_job_that_was_deleted_while_it_ran(ray: JobStage) -> None:
    async with ray.operator() as manager:
        await ray.create(ray_job("run"))
        found = await ray.until_job("RUNNING")
        cluster = Key(ray.namespace, found["status"]["rayClusterName"])
        loop = manager.controllers["rayjob"]
        assert isinstance(loop, JobReconciler)
        assert cluster in loop.poller
        await ray.client.delete(RAY_JOBS, NAME, ray.namespace)

        async def left_alone() -> bool:
            return cluster not in loop.poller

        await ray.eventually(left_alone)


async def test_a_deadline_stops_the_job_and_a_cluster_that_no_rule_deletes_is_told(ray: JobStage) -> None:
    rule = {"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED"}}
    async with ray.operator():
        await ray.create(ray_job("run", activeDeadlineSeconds=3, deletionStrategy={"deletionRules": [rule]}))
        found = await ray.until("Failed")
        await ray.until_reasons("NoDeletionRule")
        assert found["status"]["reason"] == "DeadlineExceeded"
        head = ray.heads.of(found["status"]["rayClusterName"])

        async def stopped() -> bool:
            answer = head.answer("GET", "/api/jobs/", {}, None)
            return b"STOPPED" in answer.body or b'"status"' not in answer.body

        await ray.eventually(stopped)
