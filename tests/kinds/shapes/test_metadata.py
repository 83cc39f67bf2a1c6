"""What every child has."""

from __future__ import annotations

from rayward.kinds.shapes.metadata import child, fresh, own_metadata
from rayward.kube.core.resource import SERVICES
from tests.kinds.shapes.sample import Object, cluster


def test_a_child_lies_beside_its_cluster_and_goes_with_it() -> None:
    made = child(cluster(), SERVICES, "s", {"a": "b"})

    assert (made["apiVersion"], made["kind"]) == ("v1", "Service")
    assert made["metadata"]["namespace"] == "lab"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert "annotations" not in made["metadata"]


def test_a_copy_shares_nothing() -> None:
    value: Object = {"a": [{"b": ["c"]}], "d": None}
    copy = fresh(value)
    copy["a"][0]["b"].append("x")

    assert value == {"a": [{"b": ["c"]}], "d": None}


def test_users_say_no_more_than_they_may_about_metadata() -> None:
    assert own_metadata(None) == {}
    assert own_metadata(
        {"name": "n", "uid": "u", "labels": {}, "annotations": {"a": "b"}, "ownerReferences": [{}]}
    ) == {
        "name": "n",
        "annotations": {"a": "b"},
    }
