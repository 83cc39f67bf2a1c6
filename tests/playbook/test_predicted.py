"""What ``plan`` said is what happened: random edits under the running operator, seen by pods and traffic alone."""

from __future__ import annotations

import asyncio
import json
import random
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
from rayward.kube.core.resource import PODS
from rayward.operator.registry import registrations
from tests.kinds.clusters import changed
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.stage import Object, condition, group, manifest, running
from tests.playbook.edits import CLUSTER_EDITS, drawn, replacement
from tests.playbook.seen import Pods, Seen, by_group, of_cluster, shown

pytestmark = pytest.mark.anyio

_CLUSTERS, _CLUSTER_EDITS = 12, 15
_SERVICES, _SERVICE_EDITS = 10, 12
_PARTS: Final = 17
"""Of 300 edits each in ``make soak``, beside the one in ``make test``: 5,100."""
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


async def _pods(ray: ServiceStage, cluster: str) -> Pods:
    """As the server says now, which a watch may not have told yet."""
    return by_group(await _listed(ray, cluster))


async def _listed(ray: ServiceStage, cluster: str) -> list[Object]:
    found = await ray.client.list(PODS, ray.namespace, label_selector=f"{labels.CLUSTER}={cluster}")
    return of_cluster(found.items, cluster)


async def _comes_to(seen: Seen, name: str, amounts: Amounts) -> None:
    """The pods request in the end exactly what was predicted."""
    await seen.until(name, lambda: shown(seen.requested(name)) == shown(amounts))


async def _one_cluster(ray: ServiceStage, seen: Seen, name: str, seed: int) -> None:
    chance = random.Random(seed)
    ref = Ref("RayCluster", name, ray.namespace)
    # a strategy that changes while pods of an earlier template run would let go what it held back, which no spec shows
    strategy = ("None", "Recreate", "rolling")[seed % 3]
    metadata = {"annotations": {labels.ROLLING_UPDATE: "workers"}} if strategy == "rolling" else {}
    upgrade = {"type": "Recreate" if strategy == "Recreate" else "None"}
    body = manifest(name, groups=[group("small", 1)], metadata=metadata, upgradeStrategy=upgrade)
    live = await ray.client.create(RAY_CLUSTERS, body, ray.namespace)
    counts = {"headgroup": 1, "small": 1}
    await _until_so(seen, live, {}, set(), counts)
    refused = 0
    for _ in range(_CLUSTER_EDITS):
        live = await ray.cluster(name)
        listed = await _listed(ray, name)
        while True:
            paths, wanted = drawn(chance, live, CLUSTER_EDITS)
            predicted = plan(ref, live, wanted, pods=listed)
            if predicted.strongest is not Effect.REFUSED or refused == 0:
                break
        if predicted.strongest is Effect.REFUSED:
            refused += 1
            await _is_rejected(ray, seen, live, wanted, predicted)
            continue
        before = by_group(listed)
        await _comes_to(seen, name, predicted.now)
        seen.begin(name)
        written = await ray.patch(replacement(wanted), name)
        counts = {shape.group: shape.count for shape in shapes_of("RayCluster", wanted) if shape.count}
        replaced = {one.group for one in predicted.restarts}
        await _until_so(seen, written, before, replaced, counts)
        await _comes_to(seen, name, predicted.after)
        await _stayed_within(seen, name, predicted, paths)
        after = await _pods(ray, name)
        for each, ids in before.items():
            kept = min(len(ids), counts.get(each, 0)) if each not in replaced else 0
            assert len(ids & after.get(each, set())) == kept, (paths, each, predicted.document()["changes"])


async def _stayed_within(seen: Seen, name: str, predicted: Plan, paths: tuple[str, ...]) -> None:
    """Never more was requested than was said; with two clusters exactly that, as both are whole at the switch."""
    said = predicted.peak
    if predicted.strongest is Effect.NEW_CLUSTER:
        await seen.until(name, lambda: shown(seen.peak(name)) == shown(said))
    assert shown(most(seen.peak(name), said)) == shown(said), (paths, shown(seen.peak(name)), shown(said))


async def _is_rejected(ray: ServiceStage, seen: Seen, live: Object, refused: Object, predicted: Plan) -> None:
    """An edit that was to be rejected is, and pods live through it and through its being taken back.

    A cluster that it suspends is suspended all the same.
    """
    name = live["metadata"]["name"]
    before = await _pods(ray, name)
    try:
        written = await ray.patch(replacement(refused), name)
    except Invalid:
        # By the server already, whose definitions know some of the rules.
        return

    def rejected() -> bool:
        stalled = condition(seen.cluster(name), "Stalled")
        return (
            stalled.get("status") == "True" and stalled.get("observedGeneration") == written["metadata"]["generation"]
        )

    await seen.until(name, rejected)
    await _comes_to(seen, name, predicted.after)
    stays = before if predicted.after else {}
    assert await _pods(ray, name) == stays
    written = await ray.patch(replacement(live), name)
    counts = {group: len(ids) for group, ids in before.items()}
    await _until_so(seen, written, {}, set(), counts)
    if stays:
        assert await _pods(ray, name) == before


async def _until_so(seen: Seen, written: Object, before: Pods, replaced: set[str], counts: dict[str, int]) -> None:
    """The operator has acted upon this generation, so many pods are there, and of ``replaced`` groups no old one."""
    name, generation = written["metadata"]["name"], written["metadata"]["generation"]

    def holds() -> bool:
        if (seen.cluster(name).get("status") or {}).get("observedGeneration") != generation:
            return False
        now = seen.pods(name)
        if {each: len(ids) for each, ids in now.items()} != counts:
            return False
        return all(not before.get(each, set()) & now.get(each, set()) for each in replaced)

    await seen.until(name, holds)


async def _one_service(ray: ServiceStage, seen: Seen, name: str, seed: int) -> None:
    chance = random.Random(seed)
    ref = Ref("RayService", name, ray.namespace)
    body = service(cluster_config(groups=[group("small", 1)]), rayClusterDeletionDelaySeconds=0)
    written = await ray.client.create(RAY_SERVICES, {**body, "metadata": {"name": name}}, ray.namespace)
    await _until_settled(seen, written)
    for _ in range(_SERVICE_EDITS):
        live = await ray.client.get(RAY_SERVICES, name, ray.namespace)
        paths, wanted = drawn(chance, live, _SERVED)
        serving = seen.serving(name)
        running = await ray.cluster(serving)
        predicted = plan(ref, live, wanted, running=running["spec"])
        # the pods of earlier clusters are gone by then
        await _comes_to(seen, name, predicted.now)
        seen.begin(name)
        pods, words = await _pods(ray, serving), ray.heads.words(serving)
        written = await ray.client.patch(RAY_SERVICES, name, replacement(wanted), PatchType.JSON, ray.namespace)
        expected = _expected(paths, wanted, words)
        moves = predicted.strongest is Effect.NEW_CLUSTER
        await _until_settled(seen, written, serving if moves else "")
        now = seen.serving(name)
        assert (now != serving) is moves, (paths, predicted.document()["changes"])
        await _stayed_within(seen, name, predicted, paths)
        assert not predicted.downtime.startswith("none") or name not in seen.outages, paths
        assert ray.heads.words(now) == expected
        if moves:
            await _comes_to(seen, name, predicted.after)
        else:
            await _same_pods(ray, seen, name, pods, predicted)


def _expected(paths: tuple[str, ...], wanted: Object, words: bytes) -> bytes:
    """What the applications answer, whichever cluster they run on."""
    if "spec.serveConfigV2" not in paths:
        return words
    text = json.loads(wanted["spec"]["serveConfigV2"])["applications"][0]["import_path"]
    return text.partition(":")[2].encode()


async def _same_pods(ray: ServiceStage, seen: Seen, name: str, before: Pods, predicted: Plan) -> None:
    """Nothing is restarted where no new cluster was predicted; a group may grow or shrink."""
    scaled = Effect.SCALE in {change.effect for change in predicted.changes}
    if scaled:
        await _comes_to(seen, name, predicted.after)
    after = await _pods(ray, seen.serving(name))
    if not scaled:
        assert after == before
    for each, ids in before.items():
        assert len(ids & after.get(each, set())) == min(len(ids), len(after.get(each, ())))


async def _until_settled(seen: Seen, written: Object, moved_from: str = "") -> None:
    """This generation serves, on another cluster than that."""
    name, generation = written["metadata"]["name"], written["metadata"]["generation"]

    def holds() -> bool:
        found = seen.service(name)
        progressing, ready = condition(found, "Progressing"), condition(found, "Ready")
        told = (found.get("status") or {}).get("observedGeneration") == generation
        if not told or ready.get("status") != "True" or progressing.get("observedGeneration") != generation:
            return False
        if progressing.get("reason") != "NewReleaseAvailable" and condition(found, "Drifted").get("status") != "True":
            return False
        return not moved_from or seen.serving(name) not in ("", moved_from)

    await seen.until(name, holds)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, _PARTS + 1))])
async def test_random_edits_of_clusters_and_services(ray: ServiceStage, part: int) -> None:
    seen = Seen(ray)
    ray.compose = registrations
    services = [_one_service(ray, seen, f"s{number}", 1000 * part + number) for number in range(_SERVICES)]
    clusters = [_one_cluster(ray, seen, f"c{number}", 1000 * part + number) for number in range(_CLUSTERS)]
    async with ray.operator(), running(seen.follow):
        await asyncio.gather(*services, *clusters)


async def test_what_a_service_costs_is_read_from_its_clusters(ray: ServiceStage, sdk: AsyncClient) -> None:
    """Its cluster has other sizes than the spec says, and another edit comes before the first has come true."""
    groups = [group("small", 1)]
    body = service(cluster_config(groups=groups, enableInTreeAutoscaling=True), rayClusterDeletionDelaySeconds=0)
    seen = Seen(ray)
    async with ray.operator(), running(seen.follow):
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
        await _comes_to(seen, NAME, predicted.now)
        assert shown(predicted.now)["pods"] == "5"
        await ray.annotate(pause="true")
        await sdk.apply(predicted.wanted)
        again = changed(body, "spec.rayClusterConfig.rayVersion", "2.54.0")

        async def beside() -> bool:
            return shown((await sdk.plan(again)).now)["pods"] == "7"

        await ray.eventually(beside)
        await _comes_to(seen, NAME, predicted.peak)
