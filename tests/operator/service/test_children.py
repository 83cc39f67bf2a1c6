"""Sizes and appended groups reach the running cluster; what the autoscaler or another owns does not move."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds.labels import REPLICAS, SUSPEND_GIVEN
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.machinery.patch import json_patch
from rayward.operator.service.children import replicas_text, resize, resuspend

Object = dict[str, Any]


def group(name: str = "w", **sizes: Any) -> Object:
    return {"groupName": name, "template": {}, **sizes}


def spec(*groups: Object, **more: Any) -> Object:
    return {"workerGroupSpecs": list(groups), **more}


def _typed(whole: Object) -> RayClusterSpec:
    return msgspec.convert(whole, RayClusterSpec)


def _resized(wanted: Object, running: Object, given: Object | str) -> Object | None:
    """The running cluster's groups and memory after the patch; None where there is none."""
    text = given if isinstance(given, str) else replicas_text(_typed(given))
    metadata = ObjectMeta(name="c", annotations={REPLICAS: text}, generation=4)
    cluster = RayCluster(metadata=metadata, spec=_typed(running))
    operations = resize(_typed(wanted), wanted["workerGroupSpecs"], cluster)
    if not operations:
        return None
    before = {"metadata": {"annotations": {REPLICAS: text}}, "spec": running}
    after = json_patch.apply(before, operations)
    return {"groups": after["spec"]["workerGroupSpecs"], "given": after["metadata"]["annotations"][REPLICAS]}


def test_nothing_changes_when_nothing_was_edited_though_the_autoscaler_moved() -> None:
    wanted = spec(group(replicas=1, minReplicas=0, maxReplicas=5))
    running = spec(group(replicas=4, minReplicas=0, maxReplicas=5))

    assert _resized(wanted, running, wanted) is None


def test_bounds_follow_the_user_and_replicas_stay() -> None:
    wanted = spec(group(replicas=1, maxReplicas=9, minReplicas=2))
    running = spec(group(replicas=4, maxReplicas=5), enableInTreeAutoscaling=True)

    found = _resized(wanted, running, spec(group(replicas=1, maxReplicas=5)))

    assert found is not None
    assert found["groups"] == [group(replicas=4, maxReplicas=9, minReplicas=2)]


def test_the_first_group_of_a_cluster_that_has_none() -> None:
    assert _resized(spec(group("a"), group("b")), {}, "{}") == {
        "groups": [group("a"), group("b")],
        "given": '{"a":null,"b":null}',
    }


def test_a_bound_taken_away_is_taken_away() -> None:
    found = _resized(spec(group()), spec(group(maxReplicas=5)), spec(group()))

    assert found is not None
    assert found["groups"] == [group()]


def test_replicas_follow_when_the_user_changed_them() -> None:
    found = _resized(spec(group(replicas=3)), spec(group(replicas=2)), spec(group(replicas=1)))

    assert found == {"groups": [group(replicas=3)], "given": '{"w":3}'}


def test_replicas_of_an_autoscaled_cluster_belong_to_the_autoscaler() -> None:
    running = spec(group(replicas=2), enableInTreeAutoscaling=True)

    assert _resized(spec(group(replicas=3)), running, spec(group(replicas=1))) == {
        "groups": [group(replicas=2)],
        "given": '{"w":3}',
    }


def test_a_group_at_the_end_is_added() -> None:
    found = _resized(spec(group(), group("gpu", replicas=1)), spec(group()), spec(group()))

    assert found is not None
    assert found["groups"] == [group(), group("gpu", replicas=1)]


def test_a_damaged_memory_counts_as_none_and_is_mended() -> None:
    found = _resized(spec(group(replicas=3)), spec(group(replicas=2)), "{damaged")

    assert found == {"groups": [group(replicas=2)], "given": '{"w":3}'}


@pytest.mark.parametrize(
    ("given", "wanted", "live", "followed"),
    [
        pytest.param("false", True, False, [True], id="suspended by the user"),
        pytest.param("true", False, True, [False], id="resumed by the user"),
        pytest.param("true", None, True, [False], id="resumed by leaving it out"),
        pytest.param("true", True, False, [], id="admitted by a quota gate"),
        pytest.param("false", False, True, [], id="preempted by a quota gate"),
        pytest.param("", True, False, [], id="of an older Rayward: only recorded"),
    ],
)
def test_a_cluster_follows_the_services_suspend_where_the_user_changed_it(
    given: str, wanted: bool | None, live: bool, followed: list[bool]
) -> None:
    annotations = {SUSPEND_GIVEN: given} if given else {"a": "b"}
    cluster = RayCluster(metadata=ObjectMeta(annotations=annotations), spec=RayClusterSpec(suspend=live))
    operations = resuspend(RayClusterSpec(suspend=wanted), cluster)
    assert [each["value"] for each in operations if each["path"] == "/spec/suspend"] == followed
    recorded = [given, *(each["value"] for each in operations if "annotations" in each["path"])]
    assert recorded[-1] == str(bool(wanted)).lower()


@pytest.mark.parametrize(
    ("wanted", "live", "followed"),
    [
        pytest.param(True, False, [True], id="evicted"),
        pytest.param(False, True, [False], id="admitted again"),
        pytest.param(True, True, [], id="evicted before"),
        pytest.param(None, False, [], id="runs"),
    ],
)
def test_a_cluster_of_an_older_rayward_follows_kueue_at_once(
    wanted: bool | None, live: bool, followed: list[bool]
) -> None:
    cluster = RayCluster(metadata=ObjectMeta(annotations={"a": "b"}), spec=RayClusterSpec(suspend=live))
    operations = resuspend(RayClusterSpec(suspend=wanted), cluster, kueues=True)
    assert [each["value"] for each in operations if each["path"] == "/spec/suspend"] == followed
    assert operations[-1]["value"] == str(bool(wanted)).lower()
