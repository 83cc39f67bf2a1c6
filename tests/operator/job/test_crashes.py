"""The operator dies before and after each write of the job's loop; another goes on, and no attempt runs twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.core.resource import JOBS, PODS
from tests.operator.faulty import faulty
from tests.operator.job.stage import NAME, JobStage, cluster_spec, ray_job
from tests.operator.lives import MARKS, Change, every_death, two_lives
from tests.operator.mortal import Moment, mortal, reads
from tests.operator.stage import Object, group, manifest

pytestmark = MARKS

_WRITES_OF_THE_CLUSTER: Final = re.compile(
    r"POST .*/(pods|events|services)(\?|$)|PATCH .*/rayclusters/[^/]+/status(\?|$)|PATCH .*/events/"
)


def _not_of_the_job(request: Request) -> bool:
    """Deaths of the cluster's loop have tests of their own."""
    return reads(request) or _WRITES_OF_THE_CLUSTER.search(f"{request.method} {request.target}") is not None


async def _nothing(ray: JobStage) -> None:
    async def empty() -> bool:
        return not any([await ray.objects(kind) for kind in (RAY_CLUSTERS, PODS)])

    await ray.eventually(empty)


async def _complete(ray: JobStage) -> None:
    await ray.until("Complete")
    await _nothing(ray)


async def _submitted(ray: JobStage) -> None:
    """A submitter that comes twice, as its pods do, submits once: Ray takes an id once."""
    ray.submit(await ray.submitter(), "succeed")
    await ray.until("Complete")


async def _failed(ray: JobStage) -> None:
    await ray.until("Failed")


async def _failed_in_rays_hands(ray: JobStage) -> None:
    """Every attempt has a submitter of its own, which submits as soon as it is there; whoever looks."""

    async def failed() -> bool:
        for submitter in await ray.objects(JOBS):
            ray.submit(submitter, "fail")
        return ((await ray.job()).get("status") or {}).get("jobDeploymentStatus") == "Failed"

    await ray.eventually(failed)


async def _running(ray: JobStage) -> None:
    await ray.until_job("RUNNING")


async def _late(ray: JobStage) -> None:
    found = await ray.until("Failed")
    head = ray.heads.of(found["status"]["rayClusterName"])

    async def stopped() -> bool:
        return b'"STOPPED"' in head.answer("GET", "/api/jobs/", {}, None).body

    await ray.eventually(stopped)


async def _suspended(ray: JobStage) -> None:
    await ray.until("Suspended")
    await _nothing(ray)


async def _gone(ray: JobStage) -> None:
    async def gone() -> bool:
        return await ray.objects(RAY_JOBS) == []

    await ray.eventually(gone)
    await _nothing(ray)


async def _is_suspended(ray: JobStage) -> None:
    await _running(ray)
    await ray.edit(suspend=True)
    await ray.until("Suspended")


async def _resumed(ray: JobStage) -> None:
    found = await ray.until("Complete")
    assert [row["reason"] for row in found["status"]["attempts"]] == ["Suspended", "Succeeded"]


async def _on_plain(ray: JobStage) -> None:
    await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
    await ray.create(ray_job(submissionMode="HTTPMode", clusterSelector={"ray.io/cluster": "plain"}))


async def _shared(ray: JobStage) -> None:
    await ray.until("Complete")
    assert await ray.clusters() == ["plain"]


async def _from_its_head(ray: JobStage) -> None:
    """The sidecar runs in the head's pod: what it does, whoever looks."""
    status: Object = {}

    async def begun() -> bool:
        nonlocal status
        status = (await ray.job()).get("status") or {}
        return status.get("jobDeploymentStatus") in ("Running", "Complete")

    await ray.eventually(begun)
    body = f'{{"entrypoint": "succeed", "submission_id": "{status["jobId"]}"}}'.encode()
    ray.heads.of(status["rayClusterName"]).answer("POST", "/api/jobs/", {}, body)
    await ray.until("Complete")


async def _from_its_user(ray: JobStage) -> None:
    """The user submits once, and names the job; whoever looks."""
    status: Object = {}

    async def begun() -> bool:
        nonlocal status
        status = (await ray.job()).get("status") or {}
        asked = any(name.startswith(f"{status.get('rayClusterName')}-head") for name in ray.heads.heads)
        return asked and status["jobDeploymentStatus"] in ("Waiting", "Running", "Complete")

    await ray.eventually(begun)
    body = b'{"entrypoint": "succeed", "submission_id": "mine"}'
    ray.heads.of(status["rayClusterName"]).answer("POST", "/api/jobs/", {}, body)
    await ray.edit(jobId="mine")
    await ray.until("Complete")


_SELECTED: Final[dict[str, Any]] = {"clusterSelector": {"ray.io/cluster": "plain"}}


async def _runs_on_plain(ray: JobStage) -> None:
    await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
    await _running(ray)


async def _stopped_on_plain(ray: JobStage) -> None:
    assert b'"STOPPED"' in ray.heads.of("plain").answer("GET", "/api/jobs/", {}, None).body
    assert await ray.clusters() == ["plain"]


async def _suspended_on_plain(ray: JobStage) -> None:
    await ray.until("Suspended")
    await _stopped_on_plain(ray)


async def _gone_from_plain(ray: JobStage) -> None:
    async def gone() -> bool:
        return await ray.objects(RAY_JOBS) == []

    await ray.eventually(gone)
    await _stopped_on_plain(ray)


async def _handed_over(ray: JobStage) -> None:
    assert ray.submit(await ray.submitter(), "run").status == 200
    await _running(ray)


_RULES: Final = {
    "deletionRules": [
        {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 0}},
        {"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 1}},
    ]
}
_WITH_WORKERS: Final = cluster_spec(workerGroupSpecs=[group(replicas=1)])


async def _made_with_rules(ray: JobStage) -> None:
    await ray.create(ray_job(rayClusterSpec=_WITH_WORKERS, deletionStrategy=_RULES))


_CHANGES: Final[dict[str, Change[JobStage]]] = {
    "succeed": Change(ray_job(), None, lambda ray: ray.create(ray_job(shutdownAfterJobFinishes=True)), _complete),
    "submitter": Change(ray_job(), None, lambda ray: ray.create(ray_job(submissionMode="K8sJobMode")), _submitted),
    "retry": Change(ray_job(), None, lambda ray: ray.create(ray_job("fail", backoffLimit=1)), _failed),
    "retry with submitters": Change(
        ray_job(),
        None,
        lambda ray: ray.create(ray_job("fail", submissionMode="K8sJobMode", backoffLimit=1)),
        _failed_in_rays_hands,
    ),
    "deadline": Change(ray_job("run"), _running, lambda ray: ray.edit(activeDeadlineSeconds=1), _late),
    "suspend": Change(ray_job("run"), _running, lambda ray: ray.edit(suspend=True), _suspended),
    "resume": Change(
        ray_job("run"), _is_suspended, lambda ray: ray.edit(suspend=False, entrypoint="succeed"), _resumed
    ),
    "selector": Change(ray_job(), None, _on_plain, _shared),
    "suspend on a selector": Change(
        ray_job("run", **_SELECTED), _runs_on_plain, lambda ray: ray.edit(suspend=True), _suspended_on_plain
    ),
    "delete on a selector": Change(
        ray_job("run", **_SELECTED),
        _runs_on_plain,
        lambda ray: ray.client.delete(RAY_JOBS, NAME, ray.namespace),
        _gone_from_plain,
    ),
    "suspend a submitter": Change(
        ray_job("run", submissionMode="K8sJobMode"), _handed_over, lambda ray: ray.edit(suspend=True), _suspended
    ),
    "interactive": Change(
        ray_job(), None, lambda ray: ray.create(ray_job(submissionMode="InteractiveMode")), _from_its_user
    ),
    "sidecar": Change(ray_job(), None, lambda ray: ray.create(ray_job(submissionMode="SidecarMode")), _from_its_head),
    "rules": Change(ray_job(), None, _made_with_rules, _gone),
    "delete": Change(ray_job("run"), _running, lambda ray: ray.client.delete(RAY_JOBS, NAME, ray.namespace), _gone),
}


async def _end(ray: JobStage) -> list[Any]:
    """What is there, as far as it must be the same."""
    found: list[Any] = []
    for each in await ray.objects(RAY_JOBS):
        status = each.get("status") or {}
        conditions = sorted((one["type"], one["status"], one["reason"]) for one in status.get("conditions") or ())
        rows = [(row["reason"], row.get("exitCode")) for row in status.get("attempts") or ()]
        counts = (status.get("succeeded"), status.get("failed"))
        found.append((status.get("jobStatus"), status["jobDeploymentStatus"], counts, rows, conditions))
    return [*found, len(await ray.clusters()), len(ray.heads.runs())]


def _soak(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.soak)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", _CHANGES)
async def test_the_job_goes_on_wherever_its_operator_dies(embedded_kubeconfig: Path, name: str, moment: Moment) -> None:
    await _dies_everywhere(find_access(embedded_kubeconfig), name, moment)


@pytest.mark.kube
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", ["retry", *(_soak(name) for name in _CHANGES if name != "retry")])
async def test_a_job_on_a_real_server_goes_on_wherever_its_operator_dies(
    real_kubeconfig: Path, name: str, moment: Moment
) -> None:
    await _dies_everywhere(find_access(real_kubeconfig), name, moment)


async def _dies_everywhere(access: Access, name: str, moment: Moment) -> None:
    change = _CHANGES[name]

    async def play(client: Client, write: int) -> tuple[list[Any], bool]:
        async with JobStage.among(client, access) as ray:
            died = await two_lives(ray, change, mortal(client, write, moment, _not_of_the_job))
            runs = ray.heads.runs()
            assert len(runs) == len(set(runs)), f"ran twice after a death {moment} write {write}: {runs}"
            return await _end(ray), died

    # Of a deleted job only its finalizer is written: the rest is collected.
    ends = await every_death(access, play, fewest=1 if name.startswith("delete") else 2)
    assert all(end == ends[0] for end in ends.values()), ends


@pytest.mark.timeout(600)
async def test_one_request_in_ten_fails_while_a_job_is_suspended_and_resumed(access: Access) -> None:
    async with JobStage.on(access) as ray:
        bad, transport = faulty(ray.client, 0.1, 2)
        async with ray.operator(bad):
            await ray.create(ray_job("run"))
            await _running(ray)
            await ray.edit(suspend=True)
            await ray.until("Suspended")
            await ray.edit(suspend=False, entrypoint="succeed")
            await _resumed(ray)
        runs = ray.heads.runs()
        assert len(runs) == len(set(runs)) == 2
        assert transport.faults


@pytest.mark.timeout(600)
async def test_one_request_in_ten_fails_and_a_submitter_comes_once(access: Access) -> None:
    async with JobStage.on(access) as ray:
        bad, transport = faulty(ray.client, 0.1, 3)
        async with ray.operator(bad):
            await ray.create(ray_job(submissionMode="K8sJobMode", shutdownAfterJobFinishes=True))
            await _submitted(ray)
            await _nothing(ray)
        assert len(ray.heads.runs()) == 1
        assert transport.faults


@pytest.mark.timeout(600)
async def test_one_request_in_ten_fails_and_no_attempt_runs_twice(access: Access) -> None:
    async with JobStage.on(access) as ray:
        bad, transport = faulty(ray.client, 0.1, 1)
        async with ray.operator(bad):
            await ray.create(ray_job("fail", backoffLimit=1))
            found = await ray.until("Failed")
            assert [row["reason"] for row in found["status"]["attempts"]] == ["AppFailed", "AppFailed"]
        runs = ray.heads.runs()
        assert len(runs) == len(set(runs)) == 2
        assert transport.faults
