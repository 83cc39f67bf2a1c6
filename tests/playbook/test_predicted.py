"""What ``plan`` said is what happened: random edits under the running operator, seen by pods and traffic alone."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from rayward import AsyncClient
from rayward.changes.costs import Amounts, most, shapes_of
from rayward.changes.planning import Plan, plan
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Effect
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import Invalid
from rayward.kube.client.options import PatchType
from rayward.kube.client.watch import Change
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import SERVICES
from tests.kinds.clusters import changed
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.stage import Object, condition, group, manifest, running
from tests.playbook.requested import Peaks, requested, shown

pytestmark = pytest.mark.anyio

_CLUSTERS, _CLUSTER_EDITS = 12, 15
_SERVICES, _SERVICE_EDITS = 10, 12
_PARTS: Final = 17
"""Of 300 edits each in ``make soak``, beside the one in ``make test``: 5,100."""
_THIRDS: Final = 3
"""A part is made by three tests, which may go side by side."""
_AT_ONCE: Final = 8
_GONE: Final = "no such item"
_EDITS: Final[dict[str, tuple[Any, ...]]] = {
    "spec.workerGroupSpecs.0.replicas": (0, 1, 2),
    "spec.workerGroupSpecs.0.minReplicas": (0, 99),
    "spec.workerGroupSpecs.0.maxReplicas": (1, 5, 10),
    "spec.workerGroupSpecs.0.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.53.0"),
    "spec.workerGroupSpecs.0.template.spec.tolerations": ([], [{"operator": "Exists"}]),
    "spec.workerGroupSpecs.0.template.spec.containers.0.env": ([], [{"name": "A", "value": "1"}]),
    "spec.workerGroupSpecs.0.template.spec.containers.0.resources": (
        {"requests": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"cpu": "2"}},
    ),
    "spec.workerGroupSpecs.0.rayStartParams": ({}, {"num-cpus": "1"}),
    "spec.workerGroupSpecs.1": (group("medium", 1), group("medium", 2), group("other", 1), _GONE),
    "spec.headGroupSpec.template.spec.containers.0.resources": (
        {"requests": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "2", "memory": "1Gi"}},
    ),
    "spec.headGroupSpec.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.54.0"),
    "spec.headGroupSpec.serviceType": ("ClusterIP", "NodePort"),
    "spec.rayVersion": ("2.52.0", "2.53.0"),
    "spec.suspend": (True, False),
    "spec.tlsOptions": ({"enabled": True},),
}
_SERVED: Final[dict[str, tuple[Any, ...]]] = {
    "spec.serveConfigV2": tuple(config(f"app:{word}") for word in ("one", "two", "three")),
    "spec.rayClusterConfig.workerGroupSpecs.0.replicas": (0, 1, 2),
    "spec.rayClusterConfig.workerGroupSpecs.0.maxReplicas": (2, 5),
    "spec.rayClusterConfig.headGroupSpec.template.spec.containers.0.image": ("rayproject/ray:1", "rayproject/ray:2"),
    "spec.rayClusterConfig.rayVersion": ("2.52.0", "2.53.0"),
    "spec.rayClusterConfig.workerGroupSpecs.0.template.spec.containers.0.resources": (
        {"requests": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "500m", "memory": "2Gi"}},
    ),
    "spec.rayClusterConfig.headGroupSpec.template.spec.containers.0.env": ([], [{"name": "A", "value": "1"}]),
    "spec.upgradeStrategy": ({"type": "None"}, {"type": "NewCluster"}),
    "spec.rayClusterConfig.workerGroupSpecs.0.template.spec.tolerations": ([], [{"operator": "Exists"}]),
    "metadata.annotations": ({}, {labels.SERVE_CONFIG_UPGRADE: "NewCluster"}, {labels.SERVE_CONFIG_UPGRADE: "InPlace"}),
    "metadata.labels": ({"team": "search"}, {"team": "ads"}),
}


def _drawn(chance: random.Random, live: Object, table: dict[str, tuple[Any, ...]]) -> tuple[tuple[str, ...], Object]:
    """An edit of up to three fields that changes each of them."""
    paths: list[str] = []
    wanted = live
    count = chance.choice((1, 1, 1, 2, 3))
    while len(paths) < count:
        path = chance.choice(sorted(table))
        edited = _edited(wanted, path, chance.choice(table[path]))
        if path not in paths and edited != wanted:
            paths.append(path)
            wanted = edited
    return tuple(paths), wanted


def _edited(live: Object, path: str, value: Any) -> Object:
    if not path.endswith("workerGroupSpecs.1"):
        return changed(live, path, value)
    first = live["spec"]["workerGroupSpecs"][:1]
    return changed(live, "spec.workerGroupSpecs", first if value == _GONE else [*first, value])


async def _pods(ray: ServiceStage, cluster: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for pod in await ray.pods():
        marks = pod["metadata"]["labels"]
        if marks.get(labels.CLUSTER) == cluster:
            found.setdefault(marks[labels.GROUP], set()).add(pod["metadata"]["uid"])
    return found


def _replacement(live: Object, wanted: Object) -> Object:
    """A merge patch that makes one object of the other: what is gone is null."""
    metadata: Object = {}
    for part in ("annotations", "labels"):
        before, after = (one["metadata"].get(part) or {} for one in (live, wanted))
        metadata[part] = {**dict.fromkeys(before), **after}
    return {"metadata": metadata, "spec": wanted["spec"]}


async def _comes_to(ray: ServiceStage, name: str, amounts: Amounts) -> None:
    """The pods request in the end exactly what was predicted."""

    async def holds() -> bool:
        return await requested(ray, name) == shown(amounts)

    await ray.eventually(holds)


async def _one_cluster(ray: ServiceStage, name: str, seed: int, peaks: Peaks) -> int:
    chance = random.Random(seed)
    ref = Ref("RayCluster", name, ray.namespace)
    # a strategy that changes while pods of an earlier template run would let go what it held back, which no spec shows
    strategy = ("None", "Recreate", "rolling")[seed % 3]
    metadata = {"annotations": {labels.ROLLING_UPDATE: "workers"}} if strategy == "rolling" else {}
    upgrade = {"type": "Recreate" if strategy == "Recreate" else "None"}
    body = manifest(name, groups=[group("small", 1)], metadata=metadata, upgradeStrategy=upgrade)
    await ray.client.create(RAY_CLUSTERS, body, ray.namespace)
    counts = {"headgroup": 1, "small": 1}
    await ray.eventually(lambda: _is_so(ray, name, {}, set(), counts))
    refused = 0
    for _ in range(_CLUSTER_EDITS):
        live = await ray.cluster(name)
        while True:
            paths, wanted = _drawn(chance, live, _EDITS)
            predicted = plan(ref, live, wanted, pods=await _own_pods(ray, name))
            if predicted.strongest is not Effect.REFUSED or refused == 0:
                break
        if predicted.strongest is Effect.REFUSED:
            refused += 1
            await _is_left_alone(ray, name, live, wanted)
            continue
        before = await _pods(ray, name)
        await _comes_to(ray, name, predicted.now)
        await peaks.begin(ray, name, predicted.now)
        await ray.patch(_replacement(live, wanted), name)
        counts = {shape.group: shape.count for shape in shapes_of("RayCluster", wanted) if shape.count}
        replaced = {one.group for one in predicted.restarts}
        await ray.eventually(lambda b=before, r=replaced, c=counts: _is_so(ray, name, b, r, c))
        await _comes_to(ray, name, predicted.after)
        await _stayed_within(ray, peaks, name, predicted, paths)
        after = await _pods(ray, name)
        for each, ids in before.items():
            kept = min(len(ids), counts.get(each, 0)) if each not in replaced else 0
            assert len(ids & after.get(each, set())) == kept, (paths, each, predicted.document()["changes"])
    return _CLUSTER_EDITS


async def _own_pods(ray: ServiceStage, name: str) -> list[Object]:
    return [pod for pod in await ray.pods() if pod["metadata"]["labels"].get(labels.CLUSTER) == name]


async def _stayed_within(ray: ServiceStage, peaks: Peaks, name: str, predicted: Plan, paths: tuple[str, ...]) -> None:
    """Never more was requested than was said; with two clusters exactly that, as both are whole at the switch."""
    said = predicted.peak

    async def all_was_there() -> bool:
        return shown(peaks.of(name)) == shown(said)

    if predicted.strongest is Effect.NEW_CLUSTER:
        await ray.eventually(all_was_there)
    assert shown(most(peaks.of(name), said)) == shown(said), (paths, shown(peaks.of(name)), shown(said))


async def _is_left_alone(ray: ServiceStage, name: str, live: Object, refused: Object) -> None:
    """An edit that was to be rejected is, and pods live through it and through its being taken back."""
    before = await _pods(ray, name)
    try:
        written = await ray.patch(_replacement(live, refused), name)
    except Invalid:
        # By the server already, whose definitions know some of the rules.
        return

    async def rejected() -> bool:
        stalled = condition(await ray.cluster(name), "Stalled")
        return (
            stalled.get("status") == "True" and stalled.get("observedGeneration") == written["metadata"]["generation"]
        )

    await ray.eventually(rejected)
    assert await _pods(ray, name) == before
    await ray.patch(_replacement(refused, live), name)
    counts = {group: len(ids) for group, ids in before.items()}
    await ray.eventually(lambda: _is_so(ray, name, {}, set(), counts))
    assert await _pods(ray, name) == before


async def _is_so(
    ray: ServiceStage, name: str, before: dict[str, set[str]], replaced: set[str], counts: dict[str, int]
) -> bool:
    cluster = await ray.cluster(name)
    if (cluster.get("status") or {}).get("observedGeneration") != cluster["metadata"]["generation"]:
        return False
    now = await _pods(ray, name)
    if {each: len(ids) for each, ids in now.items()} != counts:
        return False
    return all(not before.get(each, set()) & now.get(each, set()) for each in replaced)


@dataclass(slots=True)
class Outages:
    """RayServices that were not Ready at a moment, by every change that a watch told."""

    names: set[str] = field(default_factory=set[str])

    async def follow(self, ray: ServiceStage) -> None:
        """Until cancelled."""
        while True:
            async with ray.client.watch(RAY_SERVICES, KubeObject, ray.namespace) as events:
                async for event in events:
                    if isinstance(event, Change) and condition(event.whole(), "Ready").get("status") == "False":
                        self.names.add(event.object.metadata.name)


async def _serving(ray: ServiceStage, name: str) -> str:
    found = await ray.client.get(SERVICES, f"{name}-serve-svc", ray.namespace)
    return found["spec"]["selector"][labels.CLUSTER]


async def _one_service(ray: ServiceStage, name: str, seed: int, peaks: Peaks, outages: Outages) -> int:
    chance = random.Random(seed)
    ref = Ref("RayService", name, ray.namespace)
    body = service(cluster_config(groups=[group("small", 1)]), rayClusterDeletionDelaySeconds=0)
    await ray.client.create(RAY_SERVICES, {**body, "metadata": {"name": name}}, ray.namespace)
    await ray.eventually(lambda: _is_settled(ray, name))
    for _ in range(_SERVICE_EDITS):
        live = await ray.client.get(RAY_SERVICES, name, ray.namespace)
        paths, wanted = _drawn(chance, live, _SERVED)
        serving = await _serving(ray, name)
        running = await ray.cluster(serving)
        predicted = plan(ref, live, wanted, running=running["spec"])
        # the pods of earlier clusters are gone by then
        await _comes_to(ray, name, predicted.now)
        await peaks.begin(ray, name, predicted.now)
        outages.names.discard(name)
        pods, words = await _pods(ray, serving), ray.heads.words(serving)
        await ray.client.patch(RAY_SERVICES, name, _replacement(live, wanted), PatchType.MERGE, ray.namespace)
        expected = _expected(paths, wanted, words)
        moves = predicted.strongest is Effect.NEW_CLUSTER
        await ray.eventually(lambda s=serving, m=moves: _is_settled(ray, name, s, moves=m))
        now = await _serving(ray, name)
        assert (now != serving) is moves, (paths, predicted.document()["changes"])
        await _stayed_within(ray, peaks, name, predicted, paths)
        assert not predicted.downtime.startswith("none") or name not in outages.names, paths
        assert ray.heads.words(now) == expected
        if moves:
            await _comes_to(ray, name, predicted.after)
        else:
            await _same_pods(ray, now, pods, predicted)
    return _SERVICE_EDITS


def _expected(paths: tuple[str, ...], wanted: Object, words: bytes) -> bytes:
    """What the applications answer, whichever cluster they run on."""
    import json

    if "spec.serveConfigV2" not in paths:
        return words
    text = json.loads(wanted["spec"]["serveConfigV2"])["applications"][0]["import_path"]
    return text.partition(":")[2].encode()


async def _same_pods(ray: ServiceStage, cluster: str, before: dict[str, set[str]], predicted: Plan) -> None:
    """Nothing is restarted where no new cluster was predicted; a group may grow or shrink."""
    scaled = Effect.SCALE in {change.effect for change in predicted.changes}

    async def holds() -> bool:
        after = await _pods(ray, cluster)
        if not scaled:
            return after == before
        grown = {each: len(ids & after.get(each, set())) for each, ids in before.items()}
        return all(grown[each] == min(len(ids), len(after.get(each, ()))) for each, ids in before.items())

    await ray.eventually(holds)


async def _is_settled(ray: ServiceStage, name: str, serving: str = "", *, moves: bool = False) -> bool:
    found = await ray.client.get(RAY_SERVICES, name, ray.namespace)
    generation = found["metadata"]["generation"]
    progressing, ready = condition(found, "Progressing"), condition(found, "Ready")
    told = (found.get("status") or {}).get("observedGeneration") == generation
    if not told or ready.get("status") != "True" or progressing.get("observedGeneration") != generation:
        return False
    if progressing.get("reason") != "NewReleaseAvailable" and condition(found, "Drifted").get("status") != "True":
        return False
    return not moves or await _serving(ray, name) != serving


@pytest.mark.timeout(900)
@pytest.mark.parametrize("third", range(_THIRDS))
@pytest.mark.soak
@pytest.mark.parametrize("part", range(_PARTS + 1))
async def test_random_edits_of_clusters_and_services(ray: ServiceStage, part: int, third: int) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> int:
        async with gate:
            if number < _SERVICES:
                return await _one_service(ray, f"s{number}", 1000 * part + number, peaks, outages)
            return await _one_cluster(ray, f"c{number}", 1000 * part + number, peaks)

    peaks, outages = Peaks(), Outages()
    async with ray.operator(), running(lambda: peaks.follow(ray), lambda: outages.follow(ray)):
        done = await asyncio.gather(*map(one, range(third, _SERVICES + _CLUSTERS, _THIRDS)))
    assert sum(done) >= 300 / _THIRDS - max(_CLUSTER_EDITS, _SERVICE_EDITS)


async def test_what_a_service_costs_is_read_from_its_clusters(ray: ServiceStage, sdk: AsyncClient) -> None:
    """Its cluster has other sizes than the spec says, and another edit comes before the first has come true."""
    groups = [group("small", 1)]
    body = service(cluster_config(groups=groups, enableInTreeAutoscaling=True), rayClusterDeletionDelaySeconds=0)
    async with ray.operator():
        await ray.create(body)
        await ray.until_ready()
        serving = await ray.serving()
        await ray.client.patch(
            RAY_CLUSTERS,
            serving,
            [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 4}],
            PatchType.JSON,
            ray.namespace,
        )
        predicted = await sdk.plan(changed(body, "spec.rayClusterConfig.rayVersion", "2.53.0"))
        await _comes_to(ray, NAME, predicted.now)
        assert shown(predicted.now)["pods"] == "5"
        await ray.annotate(pause="true")
        await sdk.apply(predicted.wanted)
        again = changed(body, "spec.rayClusterConfig.rayVersion", "2.54.0")

        async def beside() -> bool:
            return shown((await sdk.plan(again)).now)["pods"] == "7"

        await ray.eventually(beside)
        await _comes_to(ray, NAME, predicted.peak)
