"""Sizes and appended groups reach the running cluster; what the autoscaler or another owns does not move."""

from __future__ import annotations

from typing import Any

from rayward.operator.service.scale import replicas_text, resize


def spec(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"workerGroupSpecs": list(groups), **more}


def group(name: str = "w", **sizes: Any) -> dict[str, Any]:
    return {"groupName": name, "template": {}, **sizes}


def test_nothing_changes_when_nothing_was_edited_though_the_autoscaler_moved() -> None:
    wanted = spec(group(replicas=1, minReplicas=0, maxReplicas=5))
    running = spec(group(replicas=4, minReplicas=0, maxReplicas=5))

    assert resize(wanted, running, replicas_text(wanted)) is None


def test_bounds_follow_the_user_and_replicas_stay() -> None:
    before = spec(group(replicas=1, maxReplicas=5))
    wanted = spec(group(replicas=1, maxReplicas=9, minReplicas=2))
    running = spec(group(replicas=4, maxReplicas=5), enableInTreeAutoscaling=True)

    found = resize(wanted, running, replicas_text(before))

    assert found is not None
    assert found.groups == [group(replicas=4, maxReplicas=9, minReplicas=2)]


def test_replicas_follow_when_the_user_changed_them() -> None:
    before = spec(group(replicas=1))
    found = resize(spec(group(replicas=3)), spec(group(replicas=2)), replicas_text(before))

    assert found is not None
    assert found.groups == [group(replicas=3)]
    assert found.given == '{"w":3}'


def test_replicas_of_an_autoscaled_cluster_belong_to_the_autoscaler() -> None:
    running = spec(group(replicas=2), enableInTreeAutoscaling=True)
    found = resize(spec(group(replicas=3)), running, replicas_text(spec(group(replicas=1))))

    assert found is not None
    assert found.groups == [group(replicas=2)]


def test_a_group_at_the_end_is_added() -> None:
    wanted = spec(group(), group("gpu", replicas=1))
    found = resize(wanted, spec(group()), replicas_text(spec(group())))

    assert found is not None
    assert [entry["groupName"] for entry in found.groups] == ["w", "gpu"]


def test_a_damaged_memory_counts_as_none_and_is_mended() -> None:
    wanted = spec(group(replicas=3))
    found = resize(wanted, spec(group(replicas=2)), "{damaged")

    assert found is not None
    assert found.groups == [group(replicas=2)]
    assert found.given == replicas_text(wanted)
