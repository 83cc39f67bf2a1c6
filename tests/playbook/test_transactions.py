"""``reassemble`` and ``edit``: killed before and after each write, and run again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import pytest

from rayward import AsyncClient
from rayward.changes.intents import SetField, SetImage
from rayward.changes.outcomes import Invalid, NotFound
from rayward.kinds import labels
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.access import Access
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.mortal import Moment, mortal, reads
from tests.operator.service.stage import ServiceStage
from tests.operator.stage import Object, Stage, manifest, uids

pytestmark = pytest.mark.anyio

_IMAGE = SetImage("rayproject/ray:2.53.0")


async def _cluster(ray: Stage) -> None:
    await Stage.create(ray, manifest())
    await ray.until_pods(3)


def _image(cluster: Object) -> str:
    return cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]


async def test_a_cluster_is_reassembled_with_new_pods(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await _cluster(ray)
        before = uids(await ray.pods())
        done = await sdk.reassemble("raycluster/plain", _IMAGE)
        await sdk.wait("raycluster/plain")
        await ray.until_pods(3)
        assert not before & uids(await ray.pods())
        assert (_image(done.object), done.object["spec"]["suspend"]) == ("rayproject/ray:2.53.0", False)
        assert labels.TRANSACTION not in done.object["metadata"].get("annotations", {})
        again = await sdk.reassemble("raycluster/plain", _IMAGE)
        assert not again.changed, "what it has already is not set again"
        with pytest.raises(NotFound):
            await sdk.undo_transaction("raycluster/plain")


@pytest.mark.parametrize("undone", [False, True], ids=["finished", "undone"])
async def test_killed_at_each_write_it_is_finished_or_undone_when_run_again(ray: ServiceStage, undone: bool) -> None:
    sdk = AsyncClient(ray.client, namespace=ray.namespace)
    deaths: list[tuple[int, Moment]] = []
    async with ray.operator():
        await _cluster(ray)
        for number in range(1, 16):
            for moment in ("before", "after"):
                image = SetImage(f"rayproject/ray:2.{60 + 2 * number + (moment == 'after')}.0")
                start = _image(await ray.cluster())
                client, transport = mortal(ray.client, number, moment)
                dying = AsyncClient(client, namespace=ray.namespace)
                try:
                    await dying.reassemble("raycluster/plain", image)
                except asyncio.CancelledError:
                    deaths.append((number, moment))
                pending = labels.TRANSACTION in (await ray.cluster())["metadata"].get("annotations", {})
                if undone and pending:
                    await sdk.undo_transaction("raycluster/plain")
                    wanted = start
                else:
                    await sdk.reassemble("raycluster/plain", image)
                    wanted = image.image
                cluster = await ray.cluster()
                assert _image(cluster) == wanted
                assert not cluster["spec"].get("suspend")
                assert labels.TRANSACTION not in cluster["metadata"].get("annotations", {})
                if not transport.died.is_set():
                    break
            else:
                continue
            break
        assert len(deaths) >= 4
        await ray.until_pods(3)


async def test_a_service_is_not_suspended_to_be_changed(ray: ServiceStage, sdk: AsyncClient) -> None:
    from tests.operator.service.stage import service

    await ray.create(service())
    with pytest.raises(Invalid, match="RayService is not suspended"):
        await sdk.reassemble("rayservice/svc")


@pytest.fixture
async def jobs(access: Access) -> AsyncGenerator[JobStage]:
    async with JobStage.on(access) as made:
        yield made


async def test_a_running_job_is_edited_and_runs_what_was_asked_for(jobs: JobStage) -> None:
    sdk = AsyncClient(jobs.client, namespace=jobs.namespace)
    async with jobs.operator():
        await jobs.client.create(RAY_JOBS, ray_job("run", shutdownAfterJobFinishes=True), jobs.namespace)

        async def runs() -> bool:
            found = await jobs.client.get(RAY_JOBS, "train", jobs.namespace)
            return (found.get("status") or {}).get("jobStatus") == "RUNNING"

        await jobs.eventually(runs)
        await sdk.edit("rayjob/train", SetField("entrypoint", "succeed"))
        done = await sdk.wait("rayjob/train")
        assert done.verdict.reason == "SUCCEEDED"
        with pytest.raises(Invalid, match="has ended"):
            await sdk.edit("rayjob/train", SetField("entrypoint", "fail"))
        with pytest.raises(Invalid, match="nothing to edit"):
            await sdk.edit("rayjob/train")


@pytest.mark.parametrize("undone", [False, True], ids=["finished", "undone"])
async def test_an_edit_of_a_job_that_is_killed_at_each_write_is_finished_or_undone(
    jobs: JobStage, undone: bool
) -> None:
    sdk = AsyncClient(jobs.client, namespace=jobs.namespace)

    async def dies(number: int, moment: Moment) -> bool:
        """Whether there was such a write; a job of its own."""
        name = f"{moment[0]}{number}"
        await jobs.client.create(RAY_JOBS, ray_job("run", name, shutdownAfterJobFinishes=True), jobs.namespace)
        await jobs.until("Running", name)
        entrypoint = SetField("entrypoint", "succeed")
        client, transport = mortal(jobs.client, number, moment)
        with contextlib.suppress(asyncio.CancelledError):
            await AsyncClient(client, namespace=jobs.namespace).edit(f"rayjob/{name}", entrypoint)
        if undone and labels.TRANSACTION in (await jobs.job(name))["metadata"].get("annotations", {}):
            await sdk.undo_transaction(f"rayjob/{name}")
            assert (await jobs.job(name))["spec"]["entrypoint"] == "run"
            await jobs.until("Running", name)
        else:
            if transport.died.is_set():
                with contextlib.suppress(Invalid):
                    # one that had been resumed has run to its end meanwhile
                    await sdk.edit(f"rayjob/{name}", entrypoint)
            assert (await sdk.wait(f"rayjob/{name}")).verdict.reason == "SUCCEEDED"
        job = await jobs.job(name)
        assert not job["spec"].get("suspend")
        assert labels.TRANSACTION not in job["metadata"].get("annotations", {})
        await jobs.client.delete(RAY_JOBS, name, jobs.namespace)
        return transport.died.is_set()

    deaths: list[bool] = []
    async with jobs.operator():
        while all(deaths):
            first = len(deaths) // 2 + 1
            moments: tuple[Moment, ...] = ("before", "after")
            deaths += await asyncio.gather(*(dies(at, moment) for at in range(first, first + 3) for moment in moments))
    assert sum(deaths) >= 4


async def test_an_undo_of_a_transaction_keeps_what_others_edited_meanwhile(ray: ServiceStage) -> None:
    sdk = AsyncClient(ray.client, namespace=ray.namespace)
    async with ray.operator():
        await _cluster(ray)
        start = (await ray.cluster())["spec"]
        # of the writes of the RayCluster the first only asks, the second suspends it, and the third would resume it
        client, _ = mortal(ray.client, 3, "before", lambda one: reads(one) or "controllerrevisions" in one.target)
        with contextlib.suppress(asyncio.CancelledError):
            await AsyncClient(client, namespace=ray.namespace).reassemble("raycluster/plain", _IMAGE)
        assert (await ray.cluster())["spec"]["suspend"] is True
        groups = (await ray.cluster())["spec"]["workerGroupSpecs"]
        edited = [{**groups[0], "maxReplicas": 9}, *groups[1:]]
        await ray.patch({"spec": {"workerGroupSpecs": edited, "rayVersion": "2.99.0"}})
        done = await sdk.undo_transaction("raycluster/plain")
        spec = done.object["spec"]
        assert _image(done.object) == start["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
        assert not spec.get("suspend")
        assert (spec["rayVersion"], spec["workerGroupSpecs"][0]["maxReplicas"]) == ("2.99.0", 9)
        assert not done.notes


async def test_a_suspended_cluster_keeps_cause_and_user_of_its_change(ray: ServiceStage) -> None:
    sdk = AsyncClient(ray.client, namespace=ray.namespace, user="ada")
    await Stage.create(ray, manifest(suspend=True))
    await sdk.reassemble("raycluster/plain", _IMAGE, cause="newer Ray")
    last = (await sdk.history("raycluster/plain"))[-1]
    assert (last.revision, last.cause, last.user) == (2, "newer Ray", "ada")
