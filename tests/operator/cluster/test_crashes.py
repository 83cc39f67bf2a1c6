"""The operator dies before and after each of its writes; another goes on and reaches the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import JOBS, PODS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES
from tests.operator.mortal import Moment, mortal
from tests.operator.stage import Object, Stage, condition, group, install, manifest, namespace, stage
from tests.operator.witness import witness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("buried"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

_AT_ONCE: Final = 5
_SEEN: Final = (RAY_CLUSTERS, PODS, SERVICES, SECRETS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS)
_RANDOM: Final = 5
_AT: Final = "2026-01-01T00:00:00Z"

Deed = Callable[[Stage], Awaitable[Any]]


class Change(NamedTuple):
    """What a user does, from which state, and when it is done."""

    manifest: Object
    begun: Deed | None
    """Brings the cluster to where the change begins; None where it begins with nothing."""
    edit: Deed
    done: Deed
    allowed: Mapping[str, int]
    meanwhile: Deed | None = None


def _replicas(count: int) -> Deed:
    return lambda ray: ray.patch([{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": count}])


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
        return await ray.objects(RAY_CLUSTERS) == [] and await ray.objects(PODS) == []

    await ray.eventually(holds)


async def _finish_jobs(ray: Stage) -> None:
    """Jobs end well as soon as they are there."""
    done = [
        {"type": kind, "status": "True", "lastTransitionTime": _AT, "lastProbeTime": _AT}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": _AT, "completionTime": _AT, "succeeded": 1, "conditions": done}
    while True:
        for job in await ray.objects(JOBS):
            name = job["metadata"]["name"]
            try:
                if not (job.get("status") or {}).get("conditions"):
                    change = {"status": status}
                    await ray.client.patch(JOBS, name, change, PatchType.MERGE, ray.namespace, subresource="status")
            except NotFound:
                continue
        await asyncio.sleep(0.2)


_PLAIN: Final = {"headgroup": 1, "small": 2}
_CHANGES: Final[dict[str, Change]] = {
    "create": Change(
        manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"}),
        None,
        lambda ray: ray.create(manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"})),
        lambda ray: ray.until_pods(3),
        _PLAIN,
    ),
    "scale up": Change(
        manifest(),
        lambda ray: ray.until_pods(3),
        _replicas(4),
        lambda ray: ray.until_pods(5),
        {"headgroup": 1, "small": 4},
    ),
    "scale down": Change(
        manifest(groups=[group(replicas=4)]),
        lambda ray: ray.until_pods(5),
        _replicas(1),
        lambda ray: ray.until_pods(2),
        {"headgroup": 1, "small": 4},
    ),
    "suspend": Change(
        manifest(),
        lambda ray: ray.until_pods(3),
        lambda ray: ray.patch({"spec": {"suspend": True}}),
        lambda ray: ray.until_state("suspended"),
        _PLAIN,
    ),
    "resume": Change(
        manifest(suspend=True),
        lambda ray: ray.until_state("suspended"),
        lambda ray: ray.patch({"spec": {"suspend": False}}),
        lambda ray: ray.until_pods(3),
        _PLAIN,
    ),
    "recreate": Change(
        manifest(upgradeStrategy={"type": "Recreate"}),
        lambda ray: ray.until_pods(3),
        lambda ray: ray.patch(
            [
                {
                    "op": "replace",
                    "path": "/spec/workerGroupSpecs/0/template/spec/containers/0/image",
                    "value": "rayproject/ray:2.53.0",
                }
            ]
        ),
        _recreated,
        _PLAIN,
    ),
    "delete": Change(
        manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"}),
        lambda ray: ray.until_pods(3),
        lambda ray: ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace),
        _gone,
        _PLAIN,
        _finish_jobs,
    ),
}


async def _play(client: Client, access: Access, change: Change, write: int, moment: Moment) -> tuple[list[Any], bool]:
    """One life and, if it ends early, the next one; what is there in the end, and whether there was a death."""
    async with namespace(client, access) as ray, witness(ray.client, ray.namespace) as seen:
        meanwhile = asyncio.ensure_future(change.meanwhile(ray)) if change.meanwhile else None
        if change.begun is not None:
            async with ray.operator():
                await ray.create(change.manifest)
                await change.begun(ray)
        await change.edit(ray)
        dying, transport = mortal(ray.client, write, moment)
        async with ray.operator(dying):
            done = asyncio.ensure_future(change.done(ray))
            death = asyncio.ensure_future(transport.died.wait())
            await asyncio.wait((done, death), return_when=asyncio.FIRST_COMPLETED)
            await transport.settled()
        died = transport.died.is_set()
        done.cancel()
        death.cancel()
        await asyncio.gather(done, death, return_exceptions=True)
        async with ray.operator():
            await change.done(ray)
        end = await _end(ray)
        seen.swears(change.allowed)
        if meanwhile is not None:
            meanwhile.cancel()
            await asyncio.gather(meanwhile, return_exceptions=True)
        return end, died


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
    async with Client.connect(access, max_in_flight=512) as client:
        await install(client)
        await _dies_everywhere(client, access, name, moment)


async def _dies_everywhere(client: Client, access: Access, name: str, moment: Moment) -> None:
    change = _CHANGES[name]
    expected, _ = await _play(client, access, change, 0, moment)

    async def dies(write: int) -> bool:
        end, died = await _play(client, access, change, write, moment)
        assert end == expected, f"{name}: died {moment} write {write}"
        return died

    write, deaths = 1, 0
    while True:
        # As many writes as there are: the first one that nobody dies of is the last.
        died = await asyncio.gather(*(dies(write + offset) for offset in range(_AT_ONCE)))
        deaths += sum(died)
        if not died[-1]:
            break
        write += _AT_ONCE
    assert deaths >= 2


async def test_a_condition_is_told_after_a_crash(access: Access) -> None:
    change = _CHANGES["suspend"]
    async with stage(access) as ray:
        async with ray.operator():
            await ray.create(change.manifest)
            await ray.until_pods(3)
        await change.edit(ray)
        async with ray.operator():
            cluster = await ray.until_state("suspended")
        assert condition(cluster, "RayClusterSuspended")["status"] == "True"
