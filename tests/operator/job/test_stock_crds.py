"""KubeRay's own definition has no conditions and no attempts of jobs: they are annotations there, and as true."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from rayward.changes.jobsummary import summary
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import EVENTS, JOBS
from rayward.kube.machinery.jsonvalue import Object
from tests.operator.job.stage import NAME, JobStage, ray_job
from tests.operator.kubelet import add_node
from tests.operator.service.servers import embedded_with_stock_definitions

pytestmark = [pytest.mark.anyio, pytest.mark.kube]


@pytest.fixture(scope="module")
def stock_kubeconfig() -> Iterator[Path]:
    with embedded_with_stock_definitions() as kubeconfig:
        yield kubeconfig


@pytest.fixture
async def stock(stock_kubeconfig: Path) -> AsyncGenerator[JobStage]:
    access = find_access(stock_kubeconfig)
    async with Client.connect(access) as client:
        await add_node(client)
        async with JobStage.among(client, access) as ray:
            yield ray


def _conditions(found: Object) -> dict[str, tuple[str, str]]:
    kept = json.loads(found["metadata"]["annotations"]["rayward.dev/conditions"])
    return {one["type"]: (one["status"], one["reason"]) for one in kept}


def _reasons(found: Object) -> list[str]:
    return [row["reason"] for row in json.loads(found["metadata"]["annotations"]["rayward.dev/attempts"])]


async def test_a_life_of_many_attempts_is_told_in_annotations(stock: JobStage) -> None:
    async with stock.operator():
        await stock.create(ray_job("run", backoffLimit=1))
        await stock.until_job("RUNNING")
        await stock.edit(entrypoint="fail")

        async def ignored() -> bool:
            return _conditions(await stock.job()).get("SpecInUse") == ("False", "EditIgnored")

        await stock.eventually(ignored)
        await stock.edit(suspend=True)
        found = await stock.until("Suspended")
        assert _conditions(found)["Suspended"] == ("True", "Suspended")
        assert summary(found, 0).cause == "Suspended"
    # what the next operator says goes on from what this one wrote
    async with stock.operator():
        await stock.edit(suspend=False)
        found = await stock.until("Failed")
        assert not {"conditions", "attempts"} & set(found["status"])
        assert _reasons(found) == ["Suspended", "AppFailed", "AppFailed"]
        assert _conditions(found)["Failed"] == ("True", "AppFailed")
        assert found["status"]["failed"] == 2

        async def told() -> bool:
            return {"Suspended", "Retrying", "Failed"} <= {one["reason"] for one in await stock.objects(EVENTS)}

        await stock.eventually(told)
    runs = stock.heads.runs()
    assert len(runs) == len(set(runs)) == 3


async def test_jobs_that_others_submit_are_told_in_annotations(stock: JobStage) -> None:
    """A submitter of each attempt, a sidecar, a user, and a cluster that is there."""

    async def begun(name: str, phase: str) -> Object:
        found = (await stock.until(phase, name))["status"]
        return {"cluster": found["rayClusterName"], "id": found.get("jobId") or "mine"}

    def hand_over(to: Object, entrypoint: str) -> None:
        body = f'{{"entrypoint": "{entrypoint}", "submission_id": "{to["id"]}"}}'.encode()
        assert stock.heads.of(to["cluster"]).answer("POST", "/api/jobs/", {}, body).status == 200

    async def failed() -> bool:
        for submitter in await stock.objects(JOBS):
            stock.submit(submitter, "fail")
        return ((await stock.job()).get("status") or {}).get("jobDeploymentStatus") == "Failed"

    async def asked(cluster: str) -> None:
        async def has_head() -> bool:
            return any(name.startswith(f"{cluster}-head") for name in stock.heads.heads)

        await stock.eventually(has_head)

    async with stock.operator():
        await stock.create(ray_job(submissionMode="K8sJobMode", backoffLimit=1))
        await stock.create(ray_job(name="sidecar", submissionMode="SidecarMode"))
        await stock.create(ray_job(name="user", submissionMode="InteractiveMode"))
        sidecar, user = await begun("sidecar", "Running"), await begun("user", "Waiting")
        hand_over(sidecar, "fail")
        await asked(user["cluster"])
        hand_over(user, "succeed")
        await stock.edit("user", jobId="mine")
        await stock.create(ray_job(name="selects", clusterSelector={"ray.io/cluster": user["cluster"]}))
        await stock.eventually(failed)
        ends = {NAME: "Failed", "sidecar": "Failed", "user": "Complete", "selects": "Complete"}
        found = {name: await stock.until(phase, name) for name, phase in ends.items()}
    assert {name: _reasons(each) for name, each in found.items()} == {
        NAME: ["AppFailed", "AppFailed"],
        "sidecar": ["AppFailed"],
        "user": ["Succeeded"],
        "selects": ["Succeeded"],
    }
    for name, each in found.items():
        assert _conditions(each)[ends[name]][0] == "True"
        assert not {"conditions", "attempts"} & set(each["status"])
    runs = stock.heads.runs()
    assert len(runs) == len(set(runs)) == 5


async def test_what_is_pruned_is_not_written_again_and_again(stock: JobStage) -> None:
    writes: list[Request] = []

    def observe(request: Request, status: int) -> None:
        if request.method != "GET" and f"/rayjobs/{NAME}" in request.target:
            writes.append(request)

    async with Client.connect(stock.access, observe=observe) as observed, stock.operator(observed) as manager:
        await stock.create(ray_job())
        await stock.until("Complete")
        loop = manager.controllers["rayjob"]

        async def rests() -> bool:
            return loop.controller.idle

        async def quiet() -> bool:
            # what still happened after the end may be told once; what is pruned would be told each time
            await stock.eventually(rests)
            before = len(writes)
            for _ in range(3):
                loop.controller.add(Key(stock.namespace, NAME))
                await stock.eventually(rests)
            return len(writes) == before

        await stock.eventually(quiet)
        assert writes
