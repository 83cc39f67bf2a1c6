"""What ``plan`` said is what happened: random edits under the running operator, seen by pods and traffic alone."""

from __future__ import annotations

import asyncio
import random
from typing import Any, Final

import pytest

from rayward import AsyncClient
from rayward.changes.costs import Amounts, shapes_of
from rayward.changes.planning import Plan, plan
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Effect
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import Invalid
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import SERVICES
from tests.kinds.clusters import changed
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.stage import Object, condition, group, manifest
from tests.playbook.requested import requested, shown

pytestmark = pytest.mark.anyio

_CLUSTERS, _CLUSTER_EDITS = 12, 15
_SERVICES, _SERVICE_EDITS = 10, 12
_PARTS: Final = 17
"""Of 300 edits each: 5,100 in ``make soak``."""
_AT_ONCE: Final = 6
_EDITS: Final[dict[str, tuple[Any, ...]]] = {
    "spec.workerGroupSpecs.0.replicas": (0, 1, 2),
    "spec.workerGroupSpecs.0.minReplicas": (0, 99),
    "spec.workerGroupSpecs.0.maxReplicas": (1, 5, 10),
    "spec.workerGroupSpecs.0.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.53.0"),
    "spec.workerGroupSpecs.0.template.spec.tolerations": ([], [{"operator": "Exists"}]),
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
    "spec.upgradeStrategy": ({"type": "None"}, {"type": "NewCluster"}),
    "spec.rayClusterConfig.workerGroupSpecs.0.template.spec.tolerations": ([], [{"operator": "Exists"}]),
    "metadata.annotations": ({}, {labels.SERVE_CONFIG_UPGRADE: "NewCluster"}, {labels.SERVE_CONFIG_UPGRADE: "InPlace"}),
    "metadata.labels": ({"team": "search"}, {"team": "ads"}),
}


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


async def _one_cluster(ray: ServiceStage, name: str, seed: int) -> int:
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
    done = 0
    for _ in range(_CLUSTER_EDITS):
        path = chance.choice(sorted(_EDITS))
        live = await ray.cluster(name)
        wanted = changed(live, path, chance.choice(_EDITS[path]))
        predicted = plan(ref, live, wanted)
        if predicted.strongest is Effect.REFUSED:
            await _is_left_alone(ray, name, live, wanted)
            done += 1
            continue
        before = await _pods(ray, name)
        await ray.patch(_replacement(live, wanted), name)
        counts = {shape.group: shape.count for shape in shapes_of("RayCluster", wanted) if shape.count}
        replaced = {one.group for one in predicted.restarts}
        await ray.eventually(lambda b=before, r=replaced, c=counts: _is_so(ray, name, b, r, c))
        await _comes_to(ray, name, predicted.after)
        after = await _pods(ray, name)
        for each, ids in before.items():
            kept = min(len(ids), counts.get(each, 0)) if each not in replaced else 0
            assert len(ids & after.get(each, set())) == kept, (path, each, predicted.document()["changes"])
        done += 1
    return done


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


async def _serving(ray: ServiceStage, name: str) -> str:
    found = await ray.client.get(SERVICES, f"{name}-serve-svc", ray.namespace)
    return found["spec"]["selector"][labels.CLUSTER]


async def _one_service(ray: ServiceStage, name: str, seed: int) -> int:
    chance = random.Random(seed)
    ref = Ref("RayService", name, ray.namespace)
    body = service(cluster_config(groups=[group("small", 1)]), rayClusterDeletionDelaySeconds=0)
    await ray.client.create(RAY_SERVICES, {**body, "metadata": {"name": name}}, ray.namespace)
    await ray.eventually(lambda: _is_settled(ray, name))
    for _ in range(_SERVICE_EDITS):
        path = chance.choice(sorted(_SERVED))
        live = await ray.client.get(RAY_SERVICES, name, ray.namespace)
        wanted = changed(live, path, chance.choice(_SERVED[path]))
        serving = await _serving(ray, name)
        running = await ray.cluster(serving)
        predicted = plan(ref, live, wanted, running=running["spec"])
        # the pods of earlier clusters are gone by then
        await _comes_to(ray, name, predicted.now)
        pods, words = await _pods(ray, serving), ray.heads.words(serving)
        await ray.client.patch(RAY_SERVICES, name, _replacement(live, wanted), PatchType.MERGE, ray.namespace)
        expected = _expected(path, wanted, words)
        moves = predicted.strongest is Effect.NEW_CLUSTER
        await ray.eventually(lambda s=serving, m=moves: _is_settled(ray, name, s, moves=m))
        now = await _serving(ray, name)
        assert (now != serving) is moves, (path, predicted.document()["changes"])
        assert ray.heads.words(now) == expected
        if moves:
            await _comes_to(ray, name, predicted.after)
        else:
            await _same_pods(ray, now, pods, predicted)
    return _SERVICE_EDITS


def _expected(path: str, wanted: Object, words: bytes) -> bytes:
    """What the applications answer, whichever cluster they run on."""
    import json

    if path != "spec.serveConfigV2":
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


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, _PARTS))])
async def test_random_edits_of_clusters_and_services(ray: ServiceStage, part: int) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> int:
        async with gate:
            if number < _SERVICES:
                return await _one_service(ray, f"s{number}", 1000 * part + number)
            return await _one_cluster(ray, f"c{number}", 1000 * part + number)

    async with ray.operator():
        done = await asyncio.gather(*map(one, range(_SERVICES + _CLUSTERS)))
    assert sum(done) >= 300


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
