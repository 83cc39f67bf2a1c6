"""KubeRay's own definition has no time zone, no policies and no conditions of schedules: they are annotations there."""

from __future__ import annotations

import json

import pytest

from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key
from rayward.kube.machinery.jsonvalue import Object
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.job.test_stock_crds import stock, stock_kubeconfig

pytestmark = [pytest.mark.anyio, pytest.mark.kube]

__all__ = ["stock", "stock_kubeconfig"]


def _conditions(found: Object) -> dict[str, tuple[str, str]]:
    kept = json.loads((found["metadata"].get("annotations") or {}).get("rayward.dev/conditions", "[]"))
    return {one["type"]: (one["status"], one["reason"]) for one in kept}


async def test_a_schedule_is_told_in_annotations_and_not_again_and_again(stock: JobStage) -> None:
    writes: list[Request] = []

    def observe(request: Request, status: int) -> None:
        if request.method != "GET" and "/raycronjobs/tick" in request.target:
            writes.append(request)

    spec = {"schedule": "@daily", "suspend": True, "timeZone": "Middle/Earth", "jobTemplate": ray_job()["spec"]}
    annotations = {"rayward.dev/time-zone": "Middle/Earth"}
    manifest = {"metadata": {"name": "tick", "annotations": annotations}, "spec": spec}

    async def until(wanted: dict[str, tuple[str, str]]) -> None:
        async def told() -> bool:
            return _conditions(await stock.client.get(RAY_CRON_JOBS, "tick", stock.namespace)) == wanted

        await stock.eventually(told)

    async with Client.connect(stock.access, observe=observe) as observed, stock.operator(observed) as manager:
        created = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", **manifest}
        found = await stock.client.create(RAY_CRON_JOBS, created, stock.namespace)
        assert "timeZone" not in found["spec"]
        await until(
            {
                "Reconciling": ("False", "ValidationFailed"),
                "Stalled": ("True", "ValidationFailed"),
                "Suspended": ("True", "Suspended"),
            }
        )
        change = {"metadata": {"annotations": {"rayward.dev/time-zone": "Europe/Zurich", "rayward.dev/run-now": "1"}}}
        await stock.client.patch(RAY_CRON_JOBS, "tick", change, PatchType.MERGE, stock.namespace)
        await until(
            {
                "Reconciling": ("False", "Suspended"),
                "Stalled": ("False", "SpecAccepted"),
                "Suspended": ("True", "Suspended"),
            }
        )

        async def made() -> bool:
            return len(await stock.objects(RAY_JOBS)) == 1

        await stock.eventually(made)
        await stock.until("Complete", (await stock.objects(RAY_JOBS))[0]["metadata"]["name"])
        loop = manager.controllers["raycronjob"]

        async def rests() -> bool:
            return loop.controller.idle

        async def quiet() -> bool:
            await stock.eventually(rests)
            before = len(writes)
            for _ in range(3):
                loop.controller.add(Key(stock.namespace, "tick"))
                await stock.eventually(rests)
            return len(writes) == before

        await stock.eventually(quiet)
        assert writes
