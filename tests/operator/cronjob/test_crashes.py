"""The operator dies before and after each write for a schedule; another goes on, and one tick makes one RayJob."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.machinery.jsonvalue import Object
from tests.operator.faulty import faulty
from tests.operator.job.conftest import embedded_kubeconfig, real_kubeconfig
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.lives import MARKS, Change, every_death, two_lives
from tests.operator.mortal import Moment, mortal, reads

pytestmark = MARKS

__all__ = ["embedded_kubeconfig", "real_kubeconfig"]


_OF_THE_SCHEDULE: Final = re.compile(r"POST .*/rayjobs(\?|$)|/raycronjobs/")


def _not_of_the_schedule(request: Request) -> bool:
    """Deaths of the other loops have tests of their own."""
    return reads(request) or _OF_THE_SCHEDULE.search(f"{request.method} {request.target}") is None


def _cron_job(annotations: dict[str, str], entrypoint: str, **spec: Any) -> Object:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCronJob",
        "metadata": {"name": "tick", "annotations": annotations},
        "spec": {"jobTemplate": ray_job(entrypoint)["spec"], **spec},
    }


async def _cron(ray: JobStage) -> Object:
    return await ray.client.get(RAY_CRON_JOBS, "tick", ray.namespace)


async def _ticked(ray: JobStage) -> None:
    """The job runs for ever, so that no other tick may make one."""

    async def said() -> bool:
        status = (await _cron(ray)).get("status") or {}
        return bool(status.get("lastScheduleTime")) and len(ray.heads.runs()) > 0

    await ray.eventually(said)


async def _answered(ray: JobStage) -> None:
    async def gone() -> bool:
        annotations = (await _cron(ray))["metadata"].get("annotations") or {}
        return not annotations and len(ray.heads.runs()) > 0

    await ray.eventually(gone)


_TICK: Final = _cron_job({}, "run", schedule="@every 1s", concurrencyPolicy="Forbid")
_NOW: Final = _cron_job({"rayward.dev/run-now": "1"}, "succeed", schedule="0 0 29 2 *")
_CHANGES: Final[dict[str, Change[JobStage]]] = {
    "tick": Change({}, None, lambda ray: ray.client.create(RAY_CRON_JOBS, _TICK, ray.namespace), _ticked),
    "now": Change({}, None, lambda ray: ray.client.create(RAY_CRON_JOBS, _NOW, ray.namespace), _answered),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", _CHANGES)
async def test_one_tick_makes_one_job_wherever_the_operator_dies(
    embedded_kubeconfig: Path, name: str, moment: Moment
) -> None:
    await _dies_everywhere(find_access(embedded_kubeconfig), name, moment)


@pytest.mark.kube
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", _CHANGES)
async def test_one_tick_on_a_real_server_makes_one_job_wherever_the_operator_dies(
    real_kubeconfig: Path, name: str, moment: Moment
) -> None:
    await _dies_everywhere(find_access(real_kubeconfig), name, moment)


async def _dies_everywhere(access: Access, name: str, moment: Moment) -> None:
    async def play(client: Client, write: int) -> tuple[int, bool]:
        async with JobStage.among(client, access) as ray:
            died = await two_lives(ray, _CHANGES[name], mortal(client, write, moment, _not_of_the_schedule))
            runs = ray.heads.runs()
            assert len(runs) == 1, f"ran {len(runs)} times after a death {moment} write {write}"
            return len(await ray.objects(RAY_JOBS)), died

    ends = await every_death(access, play)
    assert set(ends.values()) == {1}, ends


@pytest.mark.timeout(600)
async def test_one_request_in_ten_fails_and_one_tick_makes_one_job(access: Access) -> None:
    async with JobStage.on(access) as ray:
        bad, transport = faulty(ray.client, 0.1, 1)
        async with ray.operator(bad):
            await ray.client.create(RAY_CRON_JOBS, _TICK, ray.namespace)
            await _ticked(ray)
            change = {"metadata": {"annotations": {"rayward.dev/run-now": "1"}}}
            await ray.client.patch(RAY_CRON_JOBS, "tick", change, PatchType.MERGE, ray.namespace)

            async def answered() -> bool:
                annotations = (await _cron(ray))["metadata"].get("annotations") or {}
                return "rayward.dev/run-now" not in annotations and len(ray.heads.runs()) == 2

            await ray.eventually(answered)
            assert len(await ray.objects(RAY_JOBS)) == 2
        assert transport.faults
