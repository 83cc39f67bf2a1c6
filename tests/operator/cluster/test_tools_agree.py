"""A run is recorded, version by version: kstatus, ``kubectl wait`` and Argo CD conclude what the operator knows.

Each version of the RayCluster is judged with the pods as they were at that moment: nobody calls an edit done while a
pod that it replaces is there, or one that it asks for is not.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tools import fields

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.watch import ChangeType
from rayward.kube.core.objects import KubeObject, version_number
from rayward.kube.core.resource import PODS
from tests.operator.reported import assert_reported
from tests.operator.service import verdicts
from tests.operator.stage import GROUPS, Object, Stage, group, manifest, put, template
from tests.operator.watching import watching

pytestmark = pytest.mark.anyio

_A, _B, _C = (f"rayproject/ray:2.52.{patch}" for patch in range(3))


class _Pod(KubeObject, frozen=True):
    spec: Any = None


def _cluster(**spec: Any) -> Object:
    head = {"rayStartParams": {}, "template": template(image=_A)}
    return manifest(headGroupSpec=head, groups=[group(replicas=2, minReplicas=1, template=template(image=_A))], **spec)


@pytest.mark.parametrize(
    ("made", "replaced"),
    [
        pytest.param(_cluster(upgradeStrategy={"type": "Recreate"}), 3, id="Recreate"),
        pytest.param(_cluster(metadata={"annotations": {labels.ROLLING_UPDATE: "workers"}}), 2, id="rolling update"),
    ],
)
async def test_tools_agree_with_the_operator_in_every_version_of_a_run(ray: Stage, made: Object, replaced: int) -> None:
    seen: dict[int, tuple[ChangeType, KubeObject]] = {}
    outcomes: dict[int, tuple[str, str]] = {}

    def saw(kind: ChangeType, found: KubeObject) -> None:
        seen[version_number(found.metadata.resource_version)] = kind, found

    async def ends(image: str, outcome: str = "Current") -> None:
        generation = (await ray.cluster())["metadata"]["generation"]
        outcomes[generation] = outcome, image

        async def has_ended() -> bool:
            found = await ray.cluster()
            assert found["metadata"]["generation"] == generation
            # Without a status kstatus believes what is on its way.
            return "status" in found and verdicts.kstatus(found) == outcome

        await ray.eventually(has_ended)

    images = f"{GROUPS}/0/template/spec/containers/0/image"
    async with ray.operator(), watching(ray, ((RAY_CLUSTERS, RayCluster), (PODS, _Pod)), saw):
        await ray.create(made)
        await ends(_A)
        before = {pod["metadata"]["uid"] for pod in await ray.pods()}
        await ray.patch(put(images, _B))
        await ends(_B)
        assert len(before - {pod["metadata"]["uid"] for pod in await ray.pods()}) == replaced
        await ray.patch(put(f"{GROUPS}/0/replicas", 1))
        await ends(_B)
        env = "/spec/headGroupSpec/template/spec/containers/0/env"
        await ray.patch(put(env, [{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}]))
        await ends(_B, "Failed")
        await ray.patch([{"op": "remove", "path": env}])
        await ends(_B)
        await ray.patch(put(images, _C))
        await ends(_C)
    _judge(seen, outcomes)
    assert_reported(
        fields.CLUSTER,
        (msgspec.to_builtins(found.status) for _, found in seen.values() if isinstance(found, RayCluster)),
    )


def _judge(seen: dict[int, tuple[ChangeType, KubeObject]], outcomes: dict[int, tuple[str, str]]) -> None:
    workers: dict[str, str] = {}
    last: dict[int, str] = {}
    states = set[tuple[str, str, bool]]()
    for kind, found in (seen[version] for version in sorted(seen)):
        if isinstance(found, _Pod) and found.metadata.label(labels.NODE_TYPE) == labels.WORKER:
            gone = kind is ChangeType.DELETED or found.deleting
            workers[found.metadata.uid] = "" if gone else found.spec["containers"][0]["image"]
        if not isinstance(found, RayCluster) or not found.status.conditions:
            continue
        written = verdicts.as_written(found)
        kstatus, done = verdicts.kstatus(written), verdicts.waited_for(written)
        health, _ = verdicts.argocd(written)
        outcome, image = outcomes[found.metadata.generation]
        assert (verdicts.ARGOCD[health], done) == (kstatus, kstatus == "Current"), written["status"]
        assert kstatus in ("InProgress", outcome), (outcome, written["status"])
        if kstatus == "Current":
            there = sorted(image for image in workers.values() if image)
            wanted = sum(each.replicas or 0 for each in found.groups)
            assert there == [image] * wanted, f"generation {found.metadata.generation} is called done"
        last[found.metadata.generation] = kstatus
        states.add((kstatus, health, done))
    print(f"{len(last)} generations; {sorted(states)}")
    assert last == {generation: outcome for generation, (outcome, _) in outcomes.items()}
