"""Dashboards that are wrong, slow or of somebody else, and operators that take turns: the end is what Ray said."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.core.resource import LEASES
from rayward.operator import process
from rayward.operator.process import Settings
from rayward.operator.ray.errors import Unreachable
from rayward.operator.ray.reach import Answer, Ask, Place
from tests.operator.job.stage import JobHeads, JobStage, ray_job
from tests.operator.stage import manifest, running

pytestmark = pytest.mark.anyio

_SOON: Final = {"annotations": {"rayward.dev/status-check-timeout": "2s"}}


class _Faulty(JobHeads):
    """Spoils answers: ``spoils`` gets each, and gives what arrives of it, or None where nothing does."""

    def __init__(self) -> None:
        super().__init__()
        self.spoils: Callable[[Ask, Answer], Answer | None] = lambda ask, answer: answer

    async def ask(self, place: Place, ask: Ask) -> Answer:
        found = self.spoils(ask, await super().ask(place, ask))
        if found is None:
            raise Unreachable(f"{place}: no answer within {ask.seconds} seconds")
        return found


@pytest.fixture
async def faulty(access: Access) -> AsyncGenerator[tuple[JobStage, _Faulty]]:
    async with JobStage.on(access) as made:
        heads = _Faulty()
        made.heads = made.reach = heads
        yield made, heads


_WRONG: Final[dict[str, Callable[[Ask, Answer], Answer | None]]] = {
    "500": lambda ask, answer: Answer(500, b"500 Internal Server Error"),
    "garbage": lambda ask, answer: Answer(200, b"<html>"),
    "another shape": lambda ask, answer: Answer(200, b'{"status": 7}'),
    "lost after Ray has acted": lambda ask, answer: None,
}


@pytest.mark.parametrize("wrong", ["500", "garbage", "lost after Ray has acted"])
@pytest.mark.parametrize(("entrypoint", "phase"), [("succeed", "Complete"), ("fail", "Failed")])
async def test_one_answer_in_four_is_wrong_and_the_end_is_true(
    faulty: tuple[JobStage, _Faulty], wrong: str, entrypoint: str, phase: str
) -> None:
    ray, heads = faulty
    # drawn, as looks are of two or three requests: one in a fixed number could be of each look
    chance = random.Random(1)
    heads.spoils = lambda ask, answer: _WRONG[wrong](ask, answer) if chance.random() < 0.25 else answer
    async with ray.operator():
        await ray.create(ray_job(entrypoint))
        found = await ray.until(phase)
        assert found["status"]["jobStatus"] == ("SUCCEEDED" if phase == "Complete" else "FAILED")
    assert len(heads.runs()) == 1


@pytest.mark.parametrize("wrong", _WRONG)
async def test_a_dashboard_that_stays_wrong_ends_in_an_unknown_outcome(
    faulty: tuple[JobStage, _Faulty], wrong: str
) -> None:
    ray, heads = faulty
    async with ray.operator():
        await ray.create(ray_job("run", metadata=_SOON))
        await ray.until_job("RUNNING")
        heads.spoils = _WRONG[wrong]
        found = await ray.until("Failed")
        assert (found["status"]["reason"], found["status"].get("jobStatus", "")) == ("OutcomeUnknown", "")


async def test_a_head_that_shows_the_session_of_another_cluster_is_not_believed(
    faulty: tuple[JobStage, _Faulty],
) -> None:
    """An address that moved: the head of one job answers for that of the other."""
    ray, heads = faulty
    async with ray.operator():
        await ray.create(ray_job("run", name="one"))
        first = (await ray.until_job("RUNNING", "one"))["status"]["rayClusterName"]
        session, shows = heads.of(first).session, [0]

        def foreign(ask: Ask, answer: Answer) -> Answer:
            if ask.path == "/api/version" and session.encode() not in answer.body and shows[0] < 3:
                shows[0] += 1
                return Answer(
                    200, answer.body.replace(answer.body.split(b'"session_name":"')[1][:-2], session.encode())
                )
            return answer

        heads.spoils = foreign
        await ray.create(ray_job(name="two"))
        assert (await ray.until("Complete", "two"))["status"]["jobStatus"] == "SUCCEEDED"
        assert (await ray.job("one"))["status"]["jobStatus"] == "RUNNING"
    assert shows[0] == 3
    assert len(heads.runs()) == 2


async def test_a_head_that_is_lost_after_the_job_succeeded_and_before_anyone_asked(
    faulty: tuple[JobStage, _Faulty],
) -> None:
    """Nobody can know that it succeeded: neither that nor a failure is made up."""
    ray, heads = faulty
    heads.spoils = lambda ask, answer: None if b'"SUCCEEDED"' in answer.body else answer
    async with ray.operator():
        await ray.create(ray_job())
        found = await ray.until("Running")
        head = heads.of(found["status"]["rayClusterName"])

        async def succeeded() -> bool:
            return b'"SUCCEEDED"' in head.answer("GET", "/api/jobs/", {}, None).body

        await ray.eventually(succeeded)
        head.restart()
        found = await ray.until("Failed")
        assert (found["status"]["reason"], found["status"].get("jobStatus", "")) == ("OutcomeUnknown", "")
    assert len(heads.runs()) == 1


async def test_the_jobs_of_one_head_are_asked_for_in_one_request(ray: JobStage) -> None:
    async with ray.operator():
        await ray.client.create(RAY_CLUSTERS, manifest(groups=[]), ray.namespace)
        for name in ("one", "two", "three"):
            await ray.create(ray_job("run", name=name, clusterSelector={"ray.io/cluster": "plain"}))
        for name in ("one", "two", "three"):
            await ray.until_job("RUNNING", name)
        ray.heads.asked.clear()

        async def asked_often() -> bool:
            return len(ray.heads.asked) >= 10

        await ray.eventually(asked_often)
        assert {path for _, _, path in ray.heads.asked if path.startswith("/api/jobs/")} == {"/api/jobs/"}


async def test_a_job_goes_on_when_another_operator_takes_the_lead(ray: JobStage) -> None:
    settings = Settings((ray.namespace,), leader_election=True, lease_namespace=ray.namespace, check_for_kuberay=False)

    def operator() -> Any:
        return running(lambda: process.run(ray.access, settings, lambda _: ray.compose(ray.reach)))

    async def leader() -> str:
        leases = await ray.objects(LEASES)
        return str(leases[0]["spec"].get("holderIdentity") or "") if leases else ""

    async with operator():
        await ray.create(ray_job("run", submissionMode="HTTPMode"))
        found = await ray.until_job("RUNNING")
        first = await leader()
        second = operator()
        await second.__aenter__()
    try:

        async def changed() -> bool:
            return await leader() not in ("", first)

        await ray.eventually(changed)
        head = ray.heads.of(found["status"]["rayClusterName"])
        assert head.answer("POST", f"/api/jobs/{found['status']['jobId']}/stop", {}, b"").status == 200
        found = await ray.until("Complete")
        assert found["status"]["jobStatus"] == "STOPPED"
    finally:
        await second.__aexit__(None, None, None)
    assert len(ray.heads.runs()) == 1
