"""What ``plan`` said of a RayJob is what happened: random edits, seen by pods and by what Ray was given to run."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from typing import Any, Final

import pytest

from rayward.changes.planning import plan
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.admission import NO_QUEUES
from rayward.kinds.effects import Effect
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.access import Access
from rayward.kube.client.options import PatchType
from rayward.stack.composition import composed
from tests.kinds.clusters import changed
from tests.operator.job.stage import SCRIPTS, JobStage, ray_job
from tests.operator.stage import Object, group

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

_JOBS, _EDITS_EACH, _AT_ONCE = 6, 8, 3
_PARTS: Final = 10
"""Of 48 edits each in ``make soak``, beside the one in ``make test``."""
_IMAGE: Final = "spec.rayClusterSpec.headGroupSpec.template.spec.containers.0.image"
_EDITS: Final[dict[str, tuple[Any, ...]]] = {
    "spec.suspend": (True, False),
    "spec.entrypoint": ("run", "run again"),
    "spec.metadata": ({"team": "search"}, {"team": "ads"}),
    _IMAGE: ("rayproject/ray:1", "rayproject/ray:2"),
    "spec.rayClusterSpec.workerGroupSpecs": ([], [group("small", 1)], [group("small", 2)]),
    "spec.backoffLimit": (0, 2),
    "spec.activeDeadlineSeconds": (3000, 4000),
    "spec.preRunningDeadlineSeconds": (3000, 4000),
    "metadata.labels": ({"team": "search"}, {"team": "ads"}),
}
_PATHS: Final = (*sorted(_EDITS), *(["spec.suspend"] * 5))
_STOPS: Final = Effect.SUSPEND
_STARTS: Final = Effect.RESUME


@pytest.fixture
async def jobs(access: Access) -> AsyncGenerator[JobStage]:
    async with JobStage.on(access) as made:
        made.compose = composed(NO_QUEUES)
        yield made


async def _pods(ray: JobStage, job: str) -> dict[str, str]:
    """The image of each pod of a job's clusters, by uid."""
    return {
        pod["metadata"]["uid"]: pod["spec"]["containers"][0]["image"]
        for pod in await ray.pods()
        if pod["metadata"]["labels"].get(labels.CLUSTER, "").startswith(f"{job}-")
    }


def _given(ray: JobStage, job: str) -> dict[str, Object]:
    """What Ray was ever given to run for a job, by submission id and head."""
    found: dict[str, Object] = {}
    for pod, head in ray.heads.heads.items():
        answer = head.jobs.answer("GET", "/api/jobs/", "", None) if pod.startswith(f"{job}-") else None
        for one in json.loads(answer[1]) if answer is not None else ():
            found[f"{one['submission_id']} on {pod}"] = one
    return found


async def _until(ray: JobStage, job: str, phase: str, generation: int) -> Object:
    """Wait until the operator has acted upon a generation and the job stands so."""
    found: Object = {}

    async def holds() -> bool:
        nonlocal found
        found = await ray.job(job)
        status = found.get("status") or {}
        # of a job on its way status.observedGeneration stays: its conditions say what was looked at
        looked = {one["type"]: one.get("observedGeneration") for one in status.get("conditions") or ()}
        if (looked.get("Reconciling"), status.get("jobDeploymentStatus")) != (generation, phase):
            return False
        return phase != "Running" or status.get("jobStatus") == "RUNNING"

    await ray.eventually(holds)
    return found


async def _runs(ray: JobStage, job: str, spec: Object, before: set[str], given_before: set[str]) -> str:
    """An attempt by the whole spec runs, on pods of its own, and was given to Ray once; what it is given as."""
    cluster = spec["rayClusterSpec"]
    head = cluster["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
    workers = sum(one["replicas"] for one in cluster["workerGroupSpecs"])

    async def holds() -> bool:
        return len(await _pods(ray, job)) == 1 + workers

    await ray.eventually(holds)
    pods = await _pods(ray, job)
    assert not before & set(pods)
    assert head in pods.values()
    given = _given(ray, job)
    (name,) = set(given) - given_before
    assert given[name]["status"] == "RUNNING"
    assert given[name]["entrypoint"] == spec["entrypoint"]
    assert (given[name]["metadata"] or {}).items() >= spec.get("metadata", {}).items()
    return name


async def _one_job(ray: JobStage, name: str, seed: int) -> set[Effect]:
    chance = random.Random(seed)
    ref = Ref("RayJob", name, ray.namespace)
    made = await ray.create(ray_job("run", name))
    live = await _until(ray, name, "Running", made["metadata"]["generation"])
    attempt = await _runs(ray, name, live["spec"], set(), set())
    seen: set[Effect] = set()
    for _ in range(_EDITS_EACH):
        live = await ray.job(name)
        while True:
            path = chance.choice(_PATHS)
            wanted = changed(live, path, chance.choice(_EDITS[path]))
            if wanted != live:
                break
        predicted = {change.effect for change in plan(ref, live, wanted).changes}
        pods, given = await _pods(ray, name), set(_given(ray, name))
        part = path.partition(".")[2].partition(".")[0]
        root = path.partition(".")[0]
        change = {root: {part: wanted[root][part]}}
        edited = await ray.client.patch(RAY_JOBS, name, change, PatchType.MERGE, ray.namespace)
        suspended = bool(edited["spec"].get("suspend"))
        found = await _until(ray, name, "Suspended" if suspended else "Running", edited["metadata"]["generation"])
        if _STOPS in predicted:
            await ray.eventually(lambda: _has_none(ray, name))
            assert set(_given(ray, name)) == given, path
        elif _STARTS in predicted:
            attempt = await _runs(ray, name, found["spec"], set(pods), given)
        else:
            assert await _pods(ray, name) == pods, (path, predicted)
            assert set(_given(ray, name)) == given, (path, predicted)
            assert suspended or _given(ray, name)[attempt]["status"] == "RUNNING", (path, predicted)
        seen |= predicted
    return seen


async def _has_none(ray: JobStage, name: str) -> bool:
    return not await _pods(ray, name)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, _PARTS + 1))])
async def test_random_edits_of_jobs(jobs: JobStage, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setitem(SCRIPTS, "run again", SCRIPTS["run"])
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> set[Effect]:
        async with gate:
            return await _one_job(jobs, f"j{number}", 1000 * part + number)

    async with jobs.operator():
        seen = await asyncio.gather(*map(one, range(_JOBS)))
    assert set().union(*seen) >= {_STOPS, _STARTS, Effect.NEXT_CLUSTER, Effect.IN_PLACE}
