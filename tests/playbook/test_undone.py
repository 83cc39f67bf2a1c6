"""What ``undo`` makes under the running operator: the spec of the revision that it names, and what runs by it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from rayward import AsyncClient
from rayward.changes.costs import shapes_of
from rayward.changes.intents import SetField, SetImage
from rayward.kinds import labels
from rayward.kube.core.resource import PODS
from tests.kinds.clusters import changed
from tests.operator.service.stage import ServiceStage, cluster_config, service
from tests.operator.stage import Object, group, manifest, uids

pytestmark = pytest.mark.anyio


async def test_an_undo_inside_the_deletion_delay_moves_traffic_and_makes_no_pod(
    ray: ServiceStage, sdk: AsyncClient
) -> None:
    body = service(rayClusterDeletionDelaySeconds=3600)
    async with ray.operator():
        made = await sdk.apply(body)
        await sdk.settle(made)
        old = await ray.serving()
        await sdk.settle(await sdk.apply(changed(body, "spec.rayClusterConfig", cluster_config("rayproject/ray:2"))))
        new = await ray.serving()
        assert new != old
        pods = uids(await ray.objects(PODS))
        undo, written = await sdk.undo("rayservice/svc")
        assert undo.to.revision == 1
        await sdk.settle(written)
        assert await ray.serving() == old
        assert uids(await ray.objects(PODS)) == pods
        assert await ray.names() == {old, new}
        assert (await ray.service())["spec"] == made.object["spec"]
    assert len(ray.heads.of(old).puts) == 1, "its Serve config is not sent again"


async def test_each_revision_of_a_service_can_be_gone_back_to(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        specs: dict[int, Object] = {}
        body = service(cluster_config(groups=[group("small", 1)]), rayClusterDeletionDelaySeconds=0)
        for path, value in (
            ("spec.serveConfigV2", body["spec"]["serveConfigV2"]),
            ("spec.rayClusterConfig.rayVersion", "2.53.0"),
            ("spec.serveConfigV2", body["spec"]["serveConfigV2"].replace("app:one", "app:two")),
        ):
            body = changed(body, path, value)
            written = await sdk.apply(body)
            await sdk.settle(written)
            specs[int(written.object["metadata"]["generation"])] = written.object["spec"]
        assert list(specs) == [1, 2, 3]
        for revision, word in ((1, b"one"), (2, b"one"), (3, b"two")):
            undo, written = await sdk.undo("rayservice/svc", revision)
            await sdk.settle(written)
            assert undo.to.revision == revision
            assert (await ray.service())["spec"] == specs[revision]
            serving = await ray.serving()
            version = specs[revision]["rayClusterConfig"]["rayVersion"]
            assert (await ray.cluster(serving))["spec"]["rayVersion"] == version
            assert ray.heads.words(serving) == word


async def test_each_revision_of_a_cluster_can_be_gone_back_to_but_for_its_newer_size(
    ray: ServiceStage, sdk: AsyncClient
) -> None:
    async with ray.operator():
        made = await sdk.apply(manifest(groups=[group("wg", 1)], upgradeStrategy={"type": "Recreate"}))
        await sdk.settle(made)
        image = SetImage("rayproject/ray:2.53.0", "wg")
        await sdk.settle(await sdk.set("raycluster/plain", image, SetField("rayVersion", "2.53.0")))
        scaled = await sdk.scale("raycluster/plain", "wg", 2)
        await sdk.settle(scaled)
        for revision, wanted in ((1, made.object["spec"]), (3, scaled.object["spec"])):
            undo, written = await sdk.undo("raycluster/plain", revision)
            await sdk.settle(written)
            assert undo.to.revision == revision
            spec = (await ray.cluster())["spec"]
            assert spec == changed(wanted, "workerGroupSpecs.0.replicas", 2)
            image_then = spec["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["image"]

            async def runs(image_then: str = image_then) -> bool:
                workers = await ray.pods("wg")
                return [pod["spec"]["containers"][0]["image"] for pod in workers] == [image_then] * 2

            await ray.eventually(runs)


_IMAGE = "spec.workerGroupSpecs.0.template.spec.containers.0.image"
_RANDOM: dict[str, tuple[Any, ...]] = {
    _IMAGE: ("rayproject/ray:2.53.0", "rayproject/ray:2.54.0"),
    "spec.rayVersion": ("2.53.0", "2.54.0"),
    "spec.workerGroupSpecs.0.replicas": (1, 2, 3),
    "spec.headGroupSpec.template.spec.containers.0.env": ([], [{"name": "A", "value": "1"}]),
    "spec.workerGroupSpecs.0.rayStartParams": ({}, {"num-cpus": "1"}),
    "spec.suspend": (True, False),
}


def _image(template: Object) -> str:
    return template["spec"]["containers"][0]["image"]


@pytest.mark.parametrize("seed", range(3))
async def test_a_random_undo_makes_the_spec_that_it_names_and_its_pods(
    ray: ServiceStage, sdk: AsyncClient, seed: int
) -> None:
    """But for sizes that are newer, which it names; an undo of an undo among them."""
    chance = random.Random(seed)
    async with ray.operator():
        body = manifest(groups=[group("wg", 1)], upgradeStrategy={"type": "Recreate"})
        live = (await sdk.apply(body)).object
        specs = {1: live["spec"]}
        for _ in range(8):
            if chance.random() < 0.5:
                path = chance.choice(sorted(_RANDOM))
                written = await sdk.apply(changed(body, path, chance.choice(_RANDOM[path])), force_conflicts=True)
            else:
                revision = chance.choice(sorted(specs))
                undo, written = await sdk.undo("raycluster/plain", revision)
                assert undo.to.spec == specs[revision]
                assert written.object["spec"] == undo.spec
                wanted = specs[revision]
                for kept in undo.kept:
                    size, _, value = kept.removeprefix("wg.").partition("=")
                    wanted = changed(wanted, f"workerGroupSpecs.0.{size}", int(value))
                assert undo.spec == wanted
            await sdk.settle(written)
            live = written.object
            specs[int(live["metadata"]["generation"])] = live["spec"]
            counts = {shape.group: shape.count for shape in shapes_of("RayCluster", live) if shape.count}

            async def runs(counts: dict[str, int] = counts, spec: Object = live["spec"]) -> bool:
                pods = await ray.pods()
                images = {_image(pod) for pod in pods if pod["metadata"]["labels"][labels.GROUP] == "wg"}
                found = Counter(pod["metadata"]["labels"][labels.GROUP] for pod in pods)
                return found == counts and images <= {_image(spec["workerGroupSpecs"][0]["template"])}

            await ray.eventually(runs)
