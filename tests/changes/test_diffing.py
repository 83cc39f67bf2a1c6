from __future__ import annotations

from rayward.changes.diffing import diff
from tests.kinds.clusters import changed, manifest


def test_what_the_server_writes_is_hidden() -> None:
    live = changed(changed(manifest(), "status", {"state": "ready"}), "metadata.managedFields", [{}])
    assert diff(live, manifest(), old="a", new="b") == ""
    assert "managedFields" in diff(live, manifest(), old="a", new="b", show_all=True)


def test_a_changed_field() -> None:
    text = diff(manifest(), changed(manifest(), "spec.rayVersion", "2.61.0"), old="a", new="b")
    assert "-  rayVersion: 2.60.0\n+  rayVersion: 2.61.0\n" in text


def test_an_object_that_is_new() -> None:
    assert diff(None, manifest(), old="a", new="b").startswith("--- a\n+++ b\n@@ -0,0")
