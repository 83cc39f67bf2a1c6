"""What ``plan`` says under KubeRay's rules is what KubeRay's operator does: random edits of RayClusters, seen by pods.

The operator is real, its pods are played. RayServices need Ray's dashboards: ``test_document_kuberay`` has theirs.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any, Final

import pytest

from rayward import Client
from rayward.changes.costs import Amounts, added
from rayward.changes.planning import Plan, plan
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Effect, Rules
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import PODS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.podrequests import pod_requests
from tests.operator.stage import Object, group, manifest, uids
from tests.playbook.edits import CLUSTER_EDITS, drawn, replacement
from tests.playbook.played import NAMESPACE, kuberay_with_played_pods
from tests.playbook.seen import Pods, by_group, of_cluster, shown
from tests.waiting import eventually

pytestmark = [pytest.mark.kube]

_EDITS: Final = 12
_OURS: Final = ("spec.tlsOptions",)
_SIZES: Final = "spec.workerGroupSpecs.0.template.spec.containers.0.resources"
"""Where pods of an earlier template stay, KubeRay's operator scales down whichever it has first: any may be left."""
_TABLE: Final[dict[str, tuple[Any, ...]]] = {
    path: values for path, values in CLUSTER_EDITS.items() if path not in _OURS
}


@pytest.fixture(scope="module")
def sdk() -> Generator[Client]:
    with kuberay_with_played_pods() as client:
        yield client


@pytest.mark.parametrize("seed", range(6))
def test_random_edits_of_a_cluster(sdk: Client, seed: int) -> None:
    chance, name = random.Random(seed), f"c{seed}"
    ref = Ref("RayCluster", name, NAMESPACE)
    # a template that is asked for while it changes to Recreate would let go what it held back
    strategy = {"type": "Recreate" if seed % 2 else "None"}
    table = _TABLE if seed % 2 else {path: values for path, values in _TABLE.items() if path != _SIZES}
    sdk.api.create(RAY_CLUSTERS, manifest(name, groups=[group("small", 1)], upgradeStrategy=strategy), NAMESPACE)
    eventually(lambda: len(_pods(sdk, name)) == 2)
    for _ in range(_EDITS):
        live, pods = sdk.get(ref), _pods(sdk, name)
        while True:
            paths, wanted = drawn(chance, live, table)
            predicted = plan(ref, live, wanted, rules=Rules.KUBERAY_1_6, pods=pods)
            if predicted.strongest is not Effect.REFUSED:
                break
        assert _requested(pods) == shown(predicted.now), paths
        before, restarted = by_group(pods), {one.group for one in predicted.restarts}
        sdk.json_patch(ref, replacement(wanted))
        after = _settled(sdk, name, predicted, {uid for each in restarted for uid in before.get(each, ())})
        for each in before.keys() - restarted:
            kept = min(len(before[each]), len(after.get(each, ())))
            assert len(before[each] & after.get(each, set())) == kept, (paths, each, predicted.document()["changes"])


def _settled(sdk: Client, name: str, predicted: Plan, gone: set[str]) -> Pods:
    """The pods once they are as predicted and none of ``gone`` is left.

    KubeRay's operator does not say that it has acted upon an edit that changes nothing: what it did wrong then is seen
    before the next one.
    """
    found: list[Object] = []

    def holds() -> bool:
        nonlocal found
        found = _pods(sdk, name)
        return _requested(found) == shown(predicted.after) and not gone & uids(found)

    eventually(holds)
    return by_group(found)


def _pods(sdk: Client, name: str) -> list[Object]:
    found = sdk.api.list(PODS, NAMESPACE, label_selector=f"{labels.CLUSTER}={name}")
    return of_cluster(found.items, name)


def _requested(pods: list[Object]) -> dict[str, str]:
    found: Amounts = {}
    for pod in pods:
        found = added(found, {**pod_requests(pod["spec"]), "pods": quantity.parse(1)})
    return shown(found)
