"""Waiting for a change of a RayCluster under KubeRay's own operator, which keeps pods of an earlier template.

The operator is real, its pods are played; with real Ray ``test_document_kuberay`` does the same.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from rayward import Client
from rayward.changes.intents import SetImage
from rayward.changes.outcomes import Invalid, RolloutFailed
from rayward.kinds import labels
from rayward.kube.core.resource import PODS
from tests.operator.stage import Object, group, manifest, uids
from tests.playbook.played import kuberay_with_played_pods
from tests.playbook.seen import of_cluster
from tests.waiting import eventually

pytestmark = pytest.mark.kube


@pytest.fixture(scope="module")
def sdk() -> Generator[Client]:
    with kuberay_with_played_pods() as client:
        yield client


def test_pods_of_an_earlier_template_are_told_and_recreate_replaces_them(sdk: Client) -> None:
    sdk.settle(sdk.apply(manifest(groups=[group(replicas=2)])), timeout=150)
    assert sdk.why("raycluster/plain")[0].code == "AsAsked"
    before = uids(_pods(sdk, "plain"))
    with pytest.raises(RolloutFailed, match="OlderPods") as kept:
        sdk.settle(sdk.set("raycluster/plain", SetImage("rayproject/ray:2")), timeout=150)
    assert "2 more of an earlier template keep running" in kept.value.why
    assert kept.value.following.startswith("rayward apply -f FILE --strategy recreate")
    assert uids(_pods(sdk, "plain")) == before
    found, _ = sdk.why("raycluster/plain")
    assert (found.code, "earlier template" in found.evidence[0]) == ("Drifted", True)

    wanted = manifest(groups=[group(replicas=2)])
    for part in (wanted["spec"]["headGroupSpec"], *wanted["spec"]["workerGroupSpecs"]):
        part["template"]["spec"]["containers"][0]["image"] = "rayproject/ray:2"
    sdk.settle(sdk.apply(wanted, strategy="recreate"), timeout=150)
    pods = _pods(sdk, "plain")
    assert len(pods) == 3
    assert not before & uids(pods)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"rayproject/ray:2"}


def test_patterns_3_and_4_a_reconcile_and_an_undo(sdk: Client) -> None:
    """A JSON patch is refused whole where its test fails; a replace keeps what others wrote; an undo takes it back."""
    name = "raycluster/patched"
    made = sdk.apply(manifest("patched", groups=[group("wg", 1), group("other", 1)]))
    sdk.settle(made, timeout=150)
    wg, other = "/spec/workerGroupSpecs/0", {"op": "test", "path": "/spec/workerGroupSpecs/0/groupName"}
    two = {"op": "replace", "path": f"{wg}/replicas", "value": 2}
    with pytest.raises(Invalid):
        sdk.json_patch(name, [{**other, "value": "other"}, two])
    sdk.settle(sdk.json_patch(name, [{**other, "value": "wg"}, two]), timeout=150)
    assert _groups(sdk) == ["headgroup", "other", "wg", "wg"]

    def more(live: Object) -> Object:
        live["spec"]["workerGroupSpecs"][1]["replicas"] = 2
        return live

    sdk.settle(sdk.replace(name, more), timeout=150)
    assert _groups(sdk) == ["headgroup", "other", "other", "wg", "wg"]

    before = sdk.get(name)
    written = sdk.reconcile(name)
    assert written.object["metadata"]["annotations"][labels.RESTARTED_AT]
    assert written.object["metadata"]["generation"] == before["metadata"]["generation"]

    undo, written = sdk.undo(name, to_revision=1)
    assert undo.to.revision == 1
    sdk.settle(written, timeout=150)
    assert sdk.get(name)["spec"] == made.object["spec"]
    eventually(lambda: _groups(sdk) == ["headgroup", "other", "wg"])


def _pods(sdk: Client, cluster: str) -> list[Object]:
    return of_cluster(sdk.api.list(PODS, "team").items, cluster)


def _groups(sdk: Client) -> list[str]:
    return sorted(pod["metadata"]["labels"][labels.GROUP] for pod in _pods(sdk, "patched"))
