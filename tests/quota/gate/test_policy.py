"""Nobody but the gate opens the gate."""

from __future__ import annotations

import itertools

import pytest

from rayward import AsyncClient
from rayward.changes.intents import SetImage
from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Forbidden
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import (
    Resource,
)
from tests.quota.gate.guarding import as_operator, guard_by_policy, until_guarded
from tests.quota.gate.stage import ENGINES, GateStage, queued_service

pytestmark = pytest.mark.anyio

_LABELS = {"ours": labels.QUEUE_NAME, "kueues": names.QUEUE_NAME}

_IMAGE = "rayproject/ray:2"


async def _until_image(ray: GateStage, prefix: str) -> None:
    """Wait until the only pod of the clusters whose names begin so has the new image."""

    async def holds() -> bool:
        pods = [pod for pod in await ray.pods() if pod["metadata"]["labels"][labels.CLUSTER].startswith(prefix)]
        return [pod["spec"]["containers"][0]["image"] for pod in pods] == [_IMAGE]

    await ray.eventually(holds)


async def _label(ray: GateStage, resource: Resource, name: str, **tags: str | None) -> None:
    change = {"metadata": {"labels": {_LABELS[tag]: value for tag, value in tags.items()}}}
    await ray.client.patch(resource, name, change, PatchType.MERGE, ray.namespace)


async def test_a_grant_is_refused_from_anybody_else_and_may_be_removed_by_all(ray: GateStage) -> None:
    await ray.queue(1)
    await guard_by_policy(ray)
    await ray.create_cluster("one")

    async def annotate(value: str | None) -> None:
        change = {"metadata": {"annotations": {labels.ADMITTED: value}}}
        await ray.client.patch(RAY_CLUSTERS, "one", change, PatchType.MERGE, ray.namespace)

    async def refused() -> bool:
        try:
            await annotate("{}")
        except ApiError as error:
            return "written by the quota gate only" in error.message
        await annotate(None)
        return False

    await ray.eventually(refused)
    with pytest.raises(Forbidden, match="cannot be changed"):
        await _label(ray, RAY_CLUSTERS, "one", ours=None)
    await annotate(None)


async def test_nobody_takes_a_service_out_of_its_queue_and_its_next_release_past_the_gate(ray: GateStage) -> None:
    await ray.queue(1)
    await guard_by_policy(ray)
    await ray.create(queued_service())

    async def refused() -> bool:
        try:
            await _label(ray, RAY_SERVICES, "svc", ours=None)
        except Forbidden as error:
            return "cannot be removed" in error.message
        await _label(ray, RAY_SERVICES, "svc", ours="q")
        return False

    await ray.eventually(refused)
    await _label(ray, RAY_SERVICES, "svc", ours="another")
    try:
        await _label(ray, RAY_SERVICES, "svc", kueues="q", ours=None)
    except Forbidden as error:
        # Where Kueue runs, its own webhook lets nobody give a queue of its to what runs.
        if "field is immutable" not in error.message:
            raise
        return
    with pytest.raises(Forbidden, match="cannot be removed"):
        await _label(ray, RAY_SERVICES, "svc", kueues="")


async def test_the_mark_of_a_suspended_job_is_the_gates_and_a_user_may_only_remove_it(ray: GateStage) -> None:
    await ray.queue(1)
    await guard_by_policy(ray)
    await ray.create_job("train", head=1)
    tries = itertools.count()

    async def mark(client: Client, value: str | None) -> None:
        change = {"metadata": {"annotations": {labels.SUSPENDED_BY: value}}}
        await client.patch(RAY_JOBS, "train", change, PatchType.MERGE, ray.namespace)

    async def refused() -> bool:
        try:
            await mark(ray.client, f"gate-{next(tries)}")
        except Forbidden as error:
            return f"annotation {labels.SUSPENDED_BY} is written by the quota gate only" in error.message
        return False

    await ray.eventually(refused)
    async with as_operator(ray) as operator:
        await mark(operator, "gate")
    with pytest.raises(Forbidden, match="written by the quota gate only"):
        await mark(ray.client, "me")
    await mark(ray.client, None)
    found = await ray.client.get(RAY_JOBS, "train", ray.namespace)
    assert labels.SUSPENDED_BY not in found["metadata"].get("annotations", {})


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_edit_and_reassemble_go_on_under_the_policy(ray: GateStage) -> None:
    await ray.queue(2)
    await guard_by_policy(ray)
    await ray.create_cluster("probe")
    await until_guarded(ray, "probe")
    await ray.client.delete(RAY_CLUSTERS, "probe", ray.namespace)
    user = AsyncClient(ray.client, namespace=ray.namespace)
    async with as_operator(ray) as operator, ray.operator(operator), ray.within(2):
        await ray.create_cluster("one")
        await ray.create_job("train", head=1)
        await ray.until_pods_of("one", 1)
        await ray.until_workload_pods("train", 1)
        await user.reassemble("raycluster/one", SetImage(_IMAGE))
        await _until_image(ray, "one")
        await user.edit("rayjob/train", SetImage(_IMAGE))
        await _until_image(ray, "train")
        job = await ray.client.get(RAY_JOBS, "train", ray.namespace)
        assert labels.TRANSACTION not in job["metadata"].get("annotations", {})
