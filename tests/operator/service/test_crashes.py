"""The operator dies before and after each write of the service's loop; another goes on and reaches the same end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.core.resource import PODS, SERVICES
from tests.operator.faulty import faulty
from tests.operator.lives import MARKS, Change, every_death, two_lives
from tests.operator.mortal import Moment, mortal, reads
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness
from tests.operator.stage import install

pytestmark = MARKS

_A, _B, _C = (cluster_config(f"rayproject/ray:{letter}") for letter in "abc")
_WRITES_OF_THE_CLUSTER: Final = re.compile(
    r"POST .*/(pods|events)(\?|$)|PATCH .*/rayclusters/[^/]+/status(\?|$)|PATCH .*/events/"
)


def _not_of_the_service(request: Request) -> bool:
    """Deaths of the cluster's loop have tests of their own."""
    return reads(request) or _WRITES_OF_THE_CLUSTER.search(f"{request.method} {request.target}") is not None


@dataclass(frozen=True)
class ServiceChange(Change[ServiceStage]):
    """A change of a RayService."""

    clusters: int = 1
    """How many clusters there may ever be."""
    ends: bool = False
    """Nothing serves in the end."""


async def _settled(ray: ServiceStage) -> None:
    await ray.until_settled()


async def _upgraded(ray: ServiceStage) -> None:
    await ray.until_settled(clusters=2)
    serving = await ray.serving()

    async def planned() -> bool:
        found = {each["metadata"]["name"]: each["metadata"]["annotations"] for each in await ray.clusters()}
        return {name for name, marks in found.items() if "rayward.dev/delete-at" not in marks} == {serving}

    await ray.eventually(planned)


async def _on_its_way(ray: ServiceStage) -> None:
    """A pending cluster whose pods do not start."""
    await ray.until_settled()
    ray.kubelet.starts = lambda pod: False
    await ray.edit(rayClusterConfig=_B)
    await ray.until("UpgradeInProgress", "True")
    await ray.until_names(lambda names: len(names) == 2)


async def _two_warm(ray: ServiceStage) -> None:
    await ray.until_settled()
    await ray.edit(rayClusterConfig=_B)
    await _upgraded(ray)


async def _suspended(ray: ServiceStage) -> None:
    await ray.until("Suspended", "True")
    await _nothing_left(ray)


async def _gone(ray: ServiceStage) -> None:
    async def gone() -> bool:
        return await ray.objects(RAY_SERVICES) == []

    await ray.eventually(gone)
    await _nothing_left(ray)


async def _nothing_left(ray: ServiceStage) -> None:
    async def empty() -> bool:
        return not any([await ray.objects(kind) for kind in (RAY_CLUSTERS, PODS, SERVICES)])

    await ray.eventually(empty)


async def _failed(ray: ServiceStage) -> None:
    await ray.until("Progressing", "False", "ServeDeployFailed")
    await ray.until_names(lambda names: len(names) == 1)
    await ray.until_ready()

    async def alone() -> bool:
        # The pods of the cluster that was given up are collected after it.
        return len(await ray.pods()) == 1

    await ray.eventually(alone)

    async def back() -> bool:
        serving = await ray.serving()
        return b"app:one" in ray.heads.of(serving).puts[-1] and ray.heads.words(serving) == b"one"

    await ray.eventually(back)


def _greeter(**user_config: str) -> str:
    return config(deployments=[{"name": "Greeter", "user_config": user_config}])


async def _hung(ray: ServiceStage) -> None:
    """Another replica that does not start, given up: the one that serves has answered all the while."""
    await ray.until("Progressing", "False", "ReplicasNotStarted")
    await ray.until_ready()

    async def back() -> bool:
        serving = await ray.serving()
        return b"hangs" not in ray.heads.of(serving).puts[-1] and ray.heads.words(serving) == b"one"

    await ray.eventually(back)


_SURGED: Final = service(
    serve=_greeter(word="one"),
    metadata={
        "annotations": {
            labels.SERVE_CONFIG_UPGRADE: None,
            labels.SCHEDULING_TIMEOUT: "1s",
            labels.REPLICA_START_TIMEOUT: "3s",
        }
    },
)
_DELAY: Final = {"rayClusterDeletionDelaySeconds": 3600}
_CHANGES: Final[dict[str, ServiceChange]] = {
    "create": ServiceChange(service(), None, lambda ray: ray.create(service()), _settled),
    "config": ServiceChange(service(), _settled, lambda ray: ray.edit(serveConfigV2=config("app:two")), _settled),
    "broken config": ServiceChange(
        service(), _settled, lambda ray: ray.edit(serveConfigV2=config("app:broken")), _failed
    ),
    "user config": ServiceChange(_SURGED, _settled, lambda ray: ray.edit(serveConfigV2=_greeter(word="two")), _settled),
    "user config that hangs": ServiceChange(
        _SURGED, _settled, lambda ray: ray.edit(serveConfigV2=_greeter(word="two", hangs="yes")), _hung
    ),
    "upgrade": ServiceChange(
        service(_A, **_DELAY),
        _settled,
        lambda ray: ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:two")),
        _upgraded,
        clusters=2,
    ),
    "broken upgrade": ServiceChange(
        service(_A, **_DELAY),
        _settled,
        lambda ray: ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:broken")),
        _failed,
        clusters=2,
    ),
    "revert": ServiceChange(service(_A), _on_its_way, lambda ray: ray.edit(rayClusterConfig=_A), _settled, clusters=2),
    "warm return": ServiceChange(
        service(_A, **_DELAY), _two_warm, lambda ray: ray.edit(rayClusterConfig=_A), _upgraded, clusters=2
    ),
    "suspend": ServiceChange(service(), _settled, lambda ray: ray.edit(suspend=True), _suspended, ends=True),
    "delete": ServiceChange(
        service(metadata={"finalizers": [labels.SERVICE_FINALIZER]}),
        _settled,
        lambda ray: ray.client.delete(RAY_SERVICES, NAME, ray.namespace),
        _gone,
        ends=True,
    ),
}


async def _end(ray: ServiceStage) -> list[Any]:
    """What is there, as far as it must be the same."""

    async def collected() -> bool:
        # What a deleted cluster had goes with it, in the garbage collector's own time.
        names = await ray.names()
        return all(pod["metadata"]["labels"][labels.CLUSTER] in names for pod in await ray.pods())

    await ray.eventually(collected)
    found: list[Any] = []
    serving = await ray.serving()
    for each in await ray.objects(RAY_SERVICES):
        status = each.get("status") or {}
        conditions = sorted((one["type"], one["status"], one["reason"]) for one in status.get("conditions") or ())
        parts = sorted(set(status) & {"activeServiceStatus", "pendingServiceStatus", "appStatus"})
        found.append((conditions, parts, status.get("numServeEndpoints"), status.get("observedGeneration")))
    clusters: list[tuple[Any, ...]] = []
    for each in await ray.clusters():
        metadata, marks = each["metadata"], each["metadata"]["annotations"]
        clusters.append(
            (
                metadata["name"] == serving,
                each["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"],
                marks["rayward.dev/serve-config"],
                marks.get("rayward.dev/serve-config-running"),
                marks.get("rayward.dev/promoted"),
                "rayward.dev/delete-at" in marks,
                ray.heads.of(metadata["name"]).puts[-1],
                ray.heads.words(metadata["name"]),
            )
        )
    services = [each["metadata"]["name"].replace(serving, "serving") for each in await ray.objects(SERVICES)]
    # Their names are other ones in each run, and so is the order of the names.
    found += sorted(clusters, key=repr)
    return [*found, len(services), len(await ray.pods())]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", _CHANGES)
async def test_the_service_goes_on_wherever_its_operator_dies(
    embedded_kubeconfig: Path, name: str, moment: Moment
) -> None:
    await _dies_everywhere(find_access(embedded_kubeconfig), name, moment)


@pytest.mark.kube
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_upgrade_on_a_real_server_goes_on_wherever_the_operator_dies(
    real_kubeconfig: Path, moment: Moment
) -> None:
    await _dies_everywhere(find_access(real_kubeconfig), "upgrade", moment)


async def _dies_everywhere(access: Access, name: str, moment: Moment) -> None:
    change = _CHANGES[name]

    async def play(client: Client, write: int) -> tuple[list[Any], bool]:
        async with ServiceStage.among(client, access) as ray, witness(ray) as seen:
            died = await two_lives(ray, change, mortal(client, write, moment, _not_of_the_service))
            end = await _end(ray)
            seen.swears(ends=change.ends)
            assert len(seen.clusters) <= change.clusters, f"too many clusters: {seen.clusters}"
            return end, died

    ends = await every_death(access, play)
    for write, end in ends.items():
        assert end == ends[0], f"{name}: died {moment} write {write}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2))
async def test_one_request_in_ten_fails_and_the_end_is_the_same(access: Access, seed: int) -> None:
    async with Client.connect(access, max_in_flight=256) as client:
        await install(client)
        async with ServiceStage.among(client, access) as ray, witness(ray) as seen:
            bad, transport = faulty(client, 0.1, seed)
            async with ray.operator(bad):
                await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
                first = await ray.until_settled()
                await ray.edit(serveConfigV2=config("app:two"))
                assert await ray.until_settled() == first
                await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:three"))
                second = await ray.until_settled()
                await ray.edit(rayClusterConfig=_C, serveConfigV2=config("app:broken"))
                await ray.until("Progressing", "False", "ServeDeployFailed")
                await ray.until_names(lambda names: names == {second})
                assert ray.heads.words(second) == b"three"
            seen.swears()
            assert seen.served == [first, second]
            assert len(seen.clusters) == 3
            assert transport.faults
