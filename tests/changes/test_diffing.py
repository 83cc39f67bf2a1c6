from __future__ import annotations

import pytest

from rayward.changes.diffing import diff, diff_manifests, without_defaults
from rayward.changes.intents import SetField
from rayward.changes.lint.schema import with_defaults
from rayward.changes.outcomes import NotFound
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.sync import SyncClient
from rayward.sdk import Client
from tests.kinds.clusters import changed, manifest, service_manifest


def test_what_the_server_writes_is_hidden() -> None:
    live = changed(changed(manifest(), "status", {"state": "ready"}), "metadata.managedFields", [{}])
    assert diff(live, manifest(), old="a", new="b") == ""
    assert "managedFields" in diff(live, manifest(), old="a", new="b", show_all=True)


def test_a_changed_field() -> None:
    text = diff(manifest(), changed(manifest(), "spec.rayVersion", "2.61.0"), old="a", new="b")
    assert "-  rayVersion: 2.60.0\n+  rayVersion: 2.61.0\n" in text


def test_an_object_that_is_new() -> None:
    assert diff(None, manifest(), old="a", new="b").startswith("--- a\n+++ b\n@@ -0,0")


def test_manifests_are_compared_object_by_object() -> None:
    old = [manifest(), service_manifest("gone")]
    new = [service_manifest("new"), changed(manifest(), "spec.rayVersion", "2.61.0")]
    found = {str(ref): text for ref, text in diff_manifests(old, new, "default")}
    assert list(found) == ["rayservice/new", "raycluster/c", "rayservice/gone"]
    assert found["raycluster/c"].startswith("--- against/raycluster/c\n+++ wanted/raycluster/c\n")
    assert "-  rayVersion: 2.60.0\n+  rayVersion: 2.61.0\n" in found["raycluster/c"]
    assert "@@ -0,0" in found["rayservice/new"]
    assert "+0,0 @@" in found["rayservice/gone"]


def test_what_is_a_default_or_the_namespace_of_both_is_no_difference() -> None:
    said = changed(manifest(), "spec.workerGroupSpecs.0.numOfHosts", 1)
    elsewhere = changed(said, "metadata.namespace", "other")
    assert [text for _, text in diff_manifests([manifest()], [said], "default")] == [""]
    assert len(diff_manifests([manifest()], [elsewhere], "default")) == 2


def test_a_kind_that_is_not_rays() -> None:
    with pytest.raises(NotFound, match="ConfigMap"):
        diff_manifests([manifest()], [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}], "default")


def test_a_manifest_beside_a_revision(access: Access, client: SyncClient, namespace: str) -> None:
    with Client.connect(access, namespace=namespace) as sdk:
        sdk.apply(manifest())
        sdk.set("raycluster/c", SetField("rayVersion", "2.61.0"))
        newer = changed(manifest(), "spec.rayVersion", "2.62.0")
        before = client.get(RAY_CLUSTERS, "c", namespace)
        assert sdk.diff(manifest(), against=1) == ""
        for revision, version in ((1, "2.60.0"), (2, "2.61.0")):
            text = sdk.diff(newer, against=revision)
            assert text.startswith(f"--- revision {revision} of raycluster/c\n+++ wanted/raycluster/c\n")
            assert f"-  rayVersion: {version}\n+  rayVersion: 2.62.0\n" in text
        with pytest.raises(NotFound, match="no revision 3"):
            sdk.diff(newer, against=3)
        assert client.get(RAY_CLUSTERS, "c", namespace) == before


def test_defaults_that_nobody_wrote_are_no_part_of_it() -> None:
    wanted = manifest()
    stored = with_defaults("RayCluster", wanted)
    ports = "spec.headGroupSpec.template.spec.containers.0.ports"
    assert stored != wanted
    assert without_defaults(stored, wanted, None) == wanted
    said = changed(wanted, ports, [{"containerPort": 1, "protocol": "TCP"}])
    assert without_defaults(with_defaults("RayCluster", said), said, None) == said
    assert without_defaults(stored, wanted, stored) == stored
    injected = changed(stored, "spec.headGroupSpec.template.metadata", {"labels": {"by": "a webhook"}})
    assert "by" in str(without_defaults(injected, wanted, None))
