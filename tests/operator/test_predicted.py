"""What ``plan`` said is what happened: random edits under the running operator, seen by their pods alone."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from rayward.changes.costs import shapes_of
from rayward.changes.planning import plan
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Effect
from tests.kinds.clusters import changed
from tests.operator.stage import Object, Stage, group, manifest

_EDITS: Final[dict[str, tuple[Any, ...]]] = {
    "spec.workerGroupSpecs.0.replicas": (0, 1, 2, 3),
    "spec.workerGroupSpecs.1.replicas": (0, 1, 2),
    "spec.workerGroupSpecs.0.maxReplicas": (1, 5, 10),
    "spec.workerGroupSpecs.0.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.53.0"),
    "spec.workerGroupSpecs.1.template.spec.tolerations": ([], [{"operator": "Exists"}]),
    "spec.headGroupSpec.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.54.0"),
    "spec.headGroupSpec.serviceType": ("ClusterIP", "NodePort"),
    "spec.rayVersion": ("2.52.0", "2.53.0"),
    "spec.workerGroupSpecs.1.minReplicas": (0, 99),
    "spec.suspend": (True, False),
}
_STEPS: Final = 6

pytestmark = pytest.mark.anyio


async def _by_group(ray: Stage) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for pod in await ray.pods():
        found.setdefault(pod["metadata"]["labels"][labels.GROUP], set()).add(pod["metadata"]["uid"])
    return found


def _counts(obj: Object) -> dict[str, int]:
    return {shape.group: shape.count for shape in shapes_of("RayCluster", obj) if shape.count}


@pytest.mark.parametrize("strategy", ["None", "Recreate", "rolling"])
@pytest.mark.parametrize("seed", [1])
async def test_random_edits_of_a_cluster(ray: Stage, strategy: str, seed: int) -> None:
    chance = random.Random(f"{strategy}/{seed}")
    body = manifest(groups=[group("small", 1), group("large", 1)])
    body["spec"]["upgradeStrategy"] = {"type": "Recreate" if strategy == "Recreate" else "None"}
    if strategy == "rolling":
        body["metadata"]["annotations"] = {labels.ROLLING_UPDATE: "workers"}
    ref = Ref("RayCluster", "plain", ray.namespace)
    async with ray.operator():
        await ray.create(body)
        await ray.until_pods(3)
        accepted = _counts(await ray.cluster())
        for _ in range(_STEPS):
            path = chance.choice(sorted(_EDITS))
            value = chance.choice(_EDITS[path])
            live = await ray.cluster()
            wanted = changed(live, path, value)
            predicted = plan(ref, live, wanted)
            before = await _by_group(ray)
            # the server may refuse what the plan calls refused, too: then nothing happens either
            if predicted.strongest is Effect.REFUSED:
                continue
            await ray.patch({"spec": wanted["spec"]})
            accepted = _counts(wanted)
            replaced = {one.group for one in predicted.restarts}
            await ray.eventually(lambda b=before, r=replaced, a=accepted: _is_so(ray, b, r, a))
            after = await _by_group(ray)
            for name, uids in before.items():
                kept = min(len(uids), accepted.get(name, 0)) if name not in replaced else 0
                assert len(uids & after.get(name, set())) == kept, (path, value, name, predicted.document()["changes"])


async def _is_so(ray: Stage, before: dict[str, set[str]], replaced: set[str], counts: dict[str, int]) -> bool:
    cluster = await ray.cluster()
    if (cluster.get("status") or {}).get("observedGeneration") != cluster["metadata"]["generation"]:
        return False
    now = await _by_group(ray)
    if {name: len(uids) for name, uids in now.items()} != counts:
        return False
    return all(not before.get(name, set()) & now.get(name, set()) for name in replaced)
