"""The operator dies before and after each of its writes; another goes on and reaches the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.core.resource import JOBS, PODS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES
from tests.operator.lives import MARKS, Change, every_death, two_lives
from tests.operator.mortal import Moment, mortal
from tests.operator.stage import GROUPS, Stage, condition, group, manifest, put, running
from tests.operator.witness import witness

pytestmark = MARKS

_SEEN: Final = (RAY_CLUSTERS, PODS, SERVICES, SECRETS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS)
_RANDOM: Final = 5

Deed = Callable[[Stage], Awaitable[Any]]


@dataclass(frozen=True)
class ClusterChange(Change[Stage]):
    """A change of a RayCluster."""

    allowed: Mapping[str, int]
    """The most pods there may ever be, by group."""
    meanwhile: Sequence[Deed] = ()


def _replicas(count: int) -> Deed:
    return lambda ray: ray.patch(put(f"{GROUPS}/0/replicas", count))


async def _recreated(ray: Stage) -> None:
    async def holds() -> bool:
        pods = await ray.objects(PODS)
        images = {
            pod["spec"]["containers"][0]["image"] for pod in pods if pod["metadata"]["labels"][labels.GROUP] == "small"
        }
        return images == {"rayproject/ray:2.53.0"}

    await ray.eventually(holds)
    await ray.until_pods(3)


async def _gone(ray: Stage) -> None:
    async def holds() -> bool:
        # What it owned is collected behind it.
        return [await ray.objects(each) for each in (RAY_CLUSTERS, PODS, SERVICES)] == [[], [], []]

    await ray.eventually(holds)


async def _finish_jobs(ray: Stage) -> None:
    """Jobs end well as soon as they are there."""
    while True:
        for job in await ray.objects(JOBS):
            if not (job.get("status") or {}).get("conditions"):
                with suppress(NotFound):
                    await ray.finish(job["metadata"]["name"])
        await asyncio.sleep(0.2)


_PLAIN: Final = {"headgroup": 1, "small": 2}
_CHANGES: Final[dict[str, ClusterChange]] = {
    "create": ClusterChange(
        manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"}),
        None,
        lambda ray: ray.create(manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"})),
        lambda ray: ray.until_pods(3),
        _PLAIN,
    ),
    "scale up": ClusterChange(
        manifest(),
        lambda ray: ray.until_pods(3),
        _replicas(4),
        lambda ray: ray.until_pods(5),
        {"headgroup": 1, "small": 4},
    ),
    "scale down": ClusterChange(
        manifest(groups=[group(replicas=4)]),
        lambda ray: ray.until_pods(5),
        _replicas(1),
        lambda ray: ray.until_pods(2),
        {"headgroup": 1, "small": 4},
    ),
    "suspend": ClusterChange(
        manifest(),
        lambda ray: ray.until_pods(3),
        lambda ray: ray.patch({"spec": {"suspend": True}}),
        lambda ray: ray.until_state("suspended"),
        _PLAIN,
    ),
    "resume": ClusterChange(
        manifest(suspend=True),
        lambda ray: ray.until_state("suspended"),
        lambda ray: ray.patch({"spec": {"suspend": False}}),
        lambda ray: ray.until_pods(3),
        _PLAIN,
    ),
    "recreate": ClusterChange(
        manifest(upgradeStrategy={"type": "Recreate"}),
        lambda ray: ray.until_pods(3),
        lambda ray: ray.patch(put(f"{GROUPS}/0/template/spec/containers/0/image", "rayproject/ray:2.53.0")),
        _recreated,
        _PLAIN,
    ),
    "delete": ClusterChange(
        manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"}),
        lambda ray: ray.until_pods(3),
        lambda ray: ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace),
        _gone,
        _PLAIN,
        [_finish_jobs],
    ),
}


async def _end(ray: Stage) -> list[Any]:
    """Every object but for what chance and time put in; the status as far as it must be the same."""
    found: list[Any] = []
    for resource in _SEEN:
        for each in await ray.objects(resource):
            metadata = each["metadata"]
            if metadata["name"] in ("default", "kube-root-ca.crt"):
                continue
            name = metadata["name"][:-_RANDOM] if resource == PODS else metadata["name"]
            status = each.get("status") or {}
            told = status.get("conditions") if resource == RAY_CLUSTERS else None
            conditions = sorted((one["type"], one["status"], one["reason"]) for one in told or ())
            counts = {key: value for key, value in status.items() if isinstance(value, int)}
            # Which of several pods goes is decided by when they were made.
            kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key != labels.REPLICA_INDEX}
            found.append((resource.kind, name, sorted(kept.items()), conditions, counts))
    return sorted(found, key=str)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", _CHANGES)
async def test_the_end_is_the_same_wherever_it_dies(access: Access, name: str, moment: Moment) -> None:
    change = _CHANGES[name]

    async def play(client: Client, write: int) -> tuple[list[Any], bool]:
        async with Stage.among(client, access) as ray, witness(client, ray.namespace) as seen:
            async with running(*(partial(deed, ray) for deed in change.meanwhile)):
                died = await two_lives(ray, change, mortal(client, write, moment))
                end = await _end(ray)
            seen.swears(change.allowed)
            return end, died

    ends = await every_death(access, play)
    for write, end in ends.items():
        assert end == ends[0], f"{name}: died {moment} write {write}"


async def test_a_condition_is_told_after_a_crash(access: Access) -> None:
    change = _CHANGES["suspend"]
    async with Stage.on(access) as ray:
        async with ray.operator():
            await ray.create(change.manifest)
            await ray.until_pods(3)
        await change.edit(ray)
        async with ray.operator():
            cluster = await ray.until_state("suspended")
        assert condition(cluster, "RayClusterSuspended")["status"] == "True"
