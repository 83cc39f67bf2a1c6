from __future__ import annotations

import pytest

from rayward import Client
from rayward.changes.outcomes import Invalid, NotFound
from rayward.kinds import labels
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import PODS
from tests.kinds.clusters import changed, manifest, service_manifest

_BAD_CONFIG = changed(service_manifest(), "spec.serveConfigV2", "applications: 3\n")
"""The API server takes it: to it the config is a string."""


def test_nothing_is_written_when_one_of_several_is_wrong(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    with pytest.raises(Invalid, match="nothing was applied: 1 of 2") as caught:
        sdk.apply_all([manifest(), _BAD_CONFIG])
    assert caught.value.field == "spec.serveConfigV2"
    with pytest.raises(NotFound):
        sdk.get("raycluster/c")


def test_each_is_asked_about(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    bad = changed(manifest("d"), "spec.workerGroupSpecs.0.minReplicas", 9)
    found = sdk.check(manifest(), bad, _BAD_CONFIG)
    assert [(one.ref.name, type(one.error)) for one in found] == [("d", Invalid), ("s", Invalid)]
    assert [one.ref.name for one in sdk.check(bad, _BAD_CONFIG, lint=False)] == ["d"]


def test_what_is_right_is_applied_one_after_the_other(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    done = sdk.apply_all([manifest("a"), manifest("b")], cause="first")
    assert [one.object["metadata"]["name"] for one in done] == ["a", "b"]
    assert sdk.history("raycluster/b")[-1].cause == "first"


def test_a_strategy_that_the_operator_of_one_would_pass_over_is_refused_before_any_is_written(
    client: SyncClient, namespace: str
) -> None:
    sdk = Client(client, namespace=namespace)
    sdk.apply(manifest("theirs"))
    head = {
        "metadata": {
            "name": "theirs-head",
            "labels": {labels.CLUSTER: "theirs", labels.NODE_TYPE: labels.HEAD},
            "annotations": {labels.OPERATOR_VERSION: "v1.6.2"},
        },
        "spec": {"containers": [{"name": "a", "image": "i"}]},
    }
    client.create(PODS, head, namespace)
    edited = changed(manifest("theirs"), "spec.rayVersion", "2.61.0")
    with pytest.raises(Invalid, match="nothing was applied") as caught:
        sdk.apply_all([manifest("fresh"), edited], strategy="rolling-workers")
    assert "raycluster/theirs: KubeRay 1.6 cannot replace workers one by one" in caught.value.why
    with pytest.raises(NotFound):
        sdk.get("raycluster/fresh")
    assert sdk.get("raycluster/theirs")["metadata"]["generation"] == 1
