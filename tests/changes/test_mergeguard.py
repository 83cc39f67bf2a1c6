from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.changes.mergeguard import loss_of, refuse_loss
from rayward.changes.outcomes import Invalid
from rayward.changes.refs import Ref
from rayward.kube.machinery.patch.json_patch import apply as apply_json_patch
from rayward.kube.machinery.patch.merge_patch import apply as apply_merge_patch
from tests.kinds.clusters import Object, manifest

REF = Ref("RayCluster", "c", "default")


def test_the_example_of_the_playbook_is_refused_with_the_patch_to_use_instead() -> None:
    """documents/1 scales by {"spec": {"workerGroupSpecs": [{"groupName": "wg", "replicas": 3}]}}."""
    live = manifest()
    live["spec"]["workerGroupSpecs"].append({**live["spec"]["workerGroupSpecs"][0], "groupName": "other"})
    patch = {"spec": {"workerGroupSpecs": [{"groupName": "small", "replicas": 3}]}}
    with pytest.raises(Invalid, match="would drop") as caught:
        refuse_loss(REF, live, patch)
    assert "spec.workerGroupSpecs[other]" in caught.value.why
    assert "spec.workerGroupSpecs[small].template" in caught.value.why
    text = caught.value.following.partition("-p '")[2].rstrip("'")
    after = apply_json_patch(live, json.loads(text))
    assert [group["groupName"] for group in after["spec"]["workerGroupSpecs"]] == ["small", "other"]
    assert after["spec"]["workerGroupSpecs"][0] == {**live["spec"]["workerGroupSpecs"][0], "replicas": 3}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"suspend": True}},
        {"spec": {"workerGroupSpecs": manifest()["spec"]["workerGroupSpecs"]}},
        {"metadata": {"labels": {"a": None}}},
        {"spec": {"headGroupSpec": {"rayStartParams": {"port": "6380"}}}},
    ],
)
def test_a_patch_that_drops_nothing_passes(patch: Object) -> None:
    assert loss_of(manifest(), patch) is None


@pytest.mark.parametrize(
    "patch", [{"spec": None}, {"spec": {"workerGroupSpecs": None}}, {"spec": {"headGroupSpec": "x"}}]
)
def test_a_list_that_is_deleted_as_a_whole_is_refused_and_has_no_patch_instead(patch: Object) -> None:
    with pytest.raises(Invalid, match="would drop") as caught:
        refuse_loss(REF, manifest(), patch)
    assert "[" in caught.value.why
    assert "remove" in caught.value.following


def test_what_an_item_holds_is_replaced_whole_too() -> None:
    live = {"spec": {"containers": [{"name": "ray", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}
    patch = {"spec": {"containers": [{"name": "ray", "resources": {"limits": {"cpu": "2"}}}]}}
    loss = loss_of(live, patch)
    assert loss is not None
    assert loss.paths == ("spec.containers[ray].resources.limits.memory",)
    (after,) = apply_json_patch(live, list(loss.instead))["spec"]["containers"]
    assert after["resources"]["limits"] == {"cpu": "2", "memory": "1Gi"}


def test_items_without_names() -> None:
    live = {"spec": {"args": ["a", "b"]}}
    loss = loss_of(live, {"spec": {"args": ["a"]}})
    assert loss is not None
    assert (loss.paths, loss.instead) == (("spec.args",), ())
    assert loss_of(live, {"spec": {"args": ["a", "b", "c"]}}) is None


_values = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=3)
        | st.lists(
            st.builds(
                lambda name, more: {"name": name, **more}, st.sampled_from("pqr"), st.fixed_dictionaries({"v": inner})
            ),
            max_size=3,
            unique_by=lambda item: item["name"],
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["x", "y", "z"]), _values), st.dictionaries(st.sampled_from(["x", "y"]), _values)
)
def test_what_is_lost_is_gone_and_the_patch_instead_loses_nothing(live: Object, patch: Object) -> None:
    loss = loss_of(live, patch)
    if loss is None or not loss.instead:
        return
    merged: Any = apply_merge_patch(live, patch)
    after = apply_json_patch(live, list(loss.instead))
    assert merged != after
    assert loss_of(live, after) is None or _names(live) <= _names(after)


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {name for part in value.values() for name in _names(part)}
    if isinstance(value, list):
        return {str(item["name"]) for item in value if isinstance(item, dict)}
    return set()
