from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from rayward.kinds import labels
from rayward.kinds.effects import Effect, Rules, effects
from tests.kinds.clusters import Object, changed, manifest, service_manifest

CLUSTER = "spec.rayClusterConfig"
GROUP = f"{CLUSTER}.workerGroupSpecs.0"
CONFIG = "spec.serveConfigV2"
OTHER = "applications:\n- name: app\n  import_path: app:other\n  route_prefix: /\n"


def _effects(
    old: Object, new: Object, rules: Rules = Rules.RAYWARD, running: Object | None = None
) -> dict[str, Effect]:
    found = effects("RayService", old, new, rules, running=running)
    assert all(change.why for change in found)
    return {change.path.removeprefix("spec."): change.effect for change in found}


def _with(base: Object, changes: dict[str, Any]) -> Object:
    for path, value in changes.items():
        base = changed(base, path, value)
    return base


def _more() -> Object:
    template = manifest()["spec"]["workerGroupSpecs"][0]["template"]
    return {"groupName": "more", "replicas": 1, "minReplicas": 0, "maxReplicas": 1, "template": template}


@pytest.mark.parametrize("rules", list(Rules))
def test_a_config_alone_is_updated_in_place(rules: Rules) -> None:
    old = service_manifest()
    assert _effects(old, changed(old, CONFIG, _settings(old)), rules) == {"serveConfigV2": Effect.IN_PLACE}


def _settings(old: Object) -> str:
    return old["spec"]["serveConfigV2"] + "  args: {size: 7}\n"


def _why(old: Object, new: Object, rules: Rules = Rules.RAYWARD) -> str:
    (change,) = effects("RayService", old, new, rules)
    return change.why


def test_another_import_path_gets_a_new_cluster_unless_it_is_asked_for_in_place() -> None:
    old = service_manifest()
    new = changed(old, CONFIG, OTHER)
    assert _effects(old, new) == {"serveConfigV2": Effect.NEW_CLUSTER}
    assert "route / gets an application of another name or import_path" in _why(old, new)
    assert _effects(old, new, Rules.KUBERAY_1_7) == {"serveConfigV2": Effect.IN_PLACE}
    annotations = {labels.SERVE_CONFIG_UPGRADE: "InPlace"}
    for path, value in (("metadata.annotations", annotations), ("spec.upgradeStrategy", {"type": "None"})):
        asked = changed(old, path, value)
        assert _effects(asked, changed(asked, CONFIG, OTHER)) == {"serveConfigV2": Effect.IN_PLACE}


def test_an_application_that_is_added_replaces_no_code_and_one_that_is_renamed_does() -> None:
    old = service_manifest()
    added = old["spec"]["serveConfigV2"] + "- {name: more, import_path: 'app:more', route_prefix: /more}\n"
    assert _effects(old, changed(old, CONFIG, added)) == {"serveConfigV2": Effect.IN_PLACE}
    renamed = changed(old, CONFIG, old["spec"]["serveConfigV2"].replace("name: app", "name: new"))
    assert _effects(old, renamed) == {"serveConfigV2": Effect.NEW_CLUSTER}


def test_what_counts_is_the_code_that_serves_and_not_that_of_a_release_that_was_given_up() -> None:
    serves = service_manifest()
    given_up = changed(serves, CONFIG, OTHER)
    running = msgspec.convert(serves["spec"]["rayClusterConfig"], dict)
    config = yaml.safe_load(serves["spec"]["serveConfigV2"])
    corrected = changed(given_up, CONFIG, OTHER + "  args: {size: 7}\n")

    def found(new: Object) -> set[Effect]:
        return {one.effect for one in effects("RayService", given_up, new, running=running, serving=config)}

    assert found(corrected) == {Effect.NEW_CLUSTER}
    assert found(serves) == {Effect.IGNORED}
    assert found(changed(serves, CONFIG, _settings(serves))) == {Effect.IN_PLACE}


def test_a_config_alone_gets_a_new_cluster_where_the_annotation_says_so() -> None:
    old = changed(service_manifest(), "metadata.annotations", {labels.SERVE_CONFIG_UPGRADE: "NewCluster"})
    new = changed(old, CONFIG, OTHER)
    assert _effects(old, new) == {"serveConfigV2": Effect.NEW_CLUSTER}
    assert _effects(old, new, Rules.KUBERAY_1_7) == {"serveConfigV2": Effect.IN_PLACE}
    kept = changed(old, "spec.upgradeStrategy", {"type": "None"})
    assert _effects(kept, changed(kept, CONFIG, OTHER)) == {"serveConfigV2": Effect.IN_PLACE}


def test_a_strategy_that_held_an_edit_back_lets_it_go() -> None:
    held = changed(service_manifest(), "spec.upgradeStrategy", {"type": "None"})
    running = changed(held, f"{CLUSTER}.rayVersion", "2.59.0")["spec"]["rayClusterConfig"]
    let_go = changed(held, "spec.upgradeStrategy", {"type": "NewCluster"})
    assert _effects(held, let_go, running=running) == {"upgradeStrategy.type": Effect.NEW_CLUSTER}
    assert _effects(held, let_go) == {"upgradeStrategy.type": Effect.IN_PLACE}


def test_a_size_that_was_held_back_with_a_release_counts_when_the_release_is_taken_back() -> None:
    runs = changed(service_manifest(), "spec.upgradeStrategy", {"type": "None"})
    held = _with(runs, {f"{CLUSTER}.rayVersion": "2.59.0", f"{GROUP}.replicas": 3})
    back = changed(held, f"{CLUSTER}.rayVersion", runs["spec"]["rayClusterConfig"]["rayVersion"])
    running = runs["spec"]["rayClusterConfig"]
    assert _effects(held, back, running=running) == {"rayClusterConfig.rayVersion": Effect.SCALE}
    same = changed(held, f"{GROUP}.replicas", runs["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["replicas"])
    again = changed(same, f"{CLUSTER}.rayVersion", runs["spec"]["rayClusterConfig"]["rayVersion"])
    assert _effects(same, again, running=running) == {"rayClusterConfig.rayVersion": Effect.IGNORED}


@pytest.mark.parametrize("rules", list(Rules))
def test_a_config_together_with_a_cluster_goes_to_the_new_cluster_alone(rules: Rules) -> None:
    old = service_manifest()
    new = _with(old, {CONFIG: OTHER, f"{CLUSTER}.rayVersion": "2.61.0"})
    assert set(_effects(old, new, rules).values()) == {Effect.NEW_CLUSTER}


def test_a_config_with_other_spaces_and_comments_is_the_same() -> None:
    old = service_manifest()
    text = "# prices\napplications:\n  - {name: app, import_path: 'app:model', route_prefix: /}\n"
    assert _effects(old, changed(old, CONFIG, text)) == {"serveConfigV2": Effect.IGNORED}


def test_a_config_that_cannot_be_deployed_refuses_the_whole_edit() -> None:
    old = service_manifest()
    new = _with(old, {CONFIG: "applications: 3", f"{GROUP}.maxReplicas": 9})
    assert set(_effects(old, new).values()) == {Effect.REFUSED}


def test_sizes_reach_the_cluster_that_serves_unless_it_is_replaced() -> None:
    old = service_manifest()
    size = {f"{GROUP}.maxReplicas": 9}
    path = "rayClusterConfig.workerGroupSpecs[small].maxReplicas"
    assert _effects(old, _with(old, size)) == {path: Effect.IN_PLACE}
    assert _effects(old, _with(old, {**size, f"{CLUSTER}.rayVersion": "2.61.0"}))[path] is Effect.NEW_CLUSTER
    held = changed(old, "spec.upgradeStrategy", {"type": "None"})
    both = _with(held, {**size, f"{CLUSTER}.rayVersion": "2.61.0"})
    assert _effects(held, both)[path] is Effect.NEXT_CLUSTER


def test_an_edit_that_was_held_back_is_let_go_by_the_annotation_that_rolls_workers() -> None:
    running = service_manifest()["spec"]["rayClusterConfig"]
    held = _with(service_manifest(), {f"{GROUP}.rayStartParams": {"a": "b"}, "spec.upgradeStrategy": {"type": "None"}})
    asked = changed(held, "metadata.annotations", {labels.ROLLING_UPDATE: "workers"})
    (change,) = effects("RayService", held, asked, running=running)
    assert (change.effect, change.restarts) == (Effect.ROLLING_WORKERS, ("small",))
    (change,) = effects("RayService", held, asked, running=held["spec"]["rayClusterConfig"])
    assert (change.effect, change.restarts) == (Effect.IN_PLACE, ())


def test_replicas_that_the_autoscaler_owns_wait_for_the_next_cluster() -> None:
    old = changed(service_manifest(), f"{CLUSTER}.enableInTreeAutoscaling", True)
    assert list(_effects(old, changed(old, f"{GROUP}.replicas", 3)).values()) == [Effect.NEXT_CLUSTER]


@pytest.mark.parametrize(
    ("rules", "strategy", "effect"),
    [
        (Rules.RAYWARD, "NewCluster", Effect.SCALE),
        (Rules.RAYWARD, "None", Effect.SCALE),
        (Rules.KUBERAY_1_6, "NewCluster", Effect.SCALE),
        (Rules.KUBERAY_1_6, "None", Effect.NEXT_CLUSTER),
    ],
)
def test_groups_added_at_the_end_join_the_cluster(rules: Rules, strategy: str, effect: Effect) -> None:
    old = changed(service_manifest(), "spec.upgradeStrategy", {"type": strategy})
    new = changed(old, f"{CLUSTER}.workerGroupSpecs.-", _more())
    assert _effects(old, new, rules) == {"rayClusterConfig.workerGroupSpecs[more]": effect}


def test_a_group_in_front_is_another_release() -> None:
    old = service_manifest()
    groups = [_more(), *old["spec"]["rayClusterConfig"]["workerGroupSpecs"]]
    found = _effects(old, changed(old, f"{CLUSTER}.workerGroupSpecs", groups))
    assert set(found.values()) == {Effect.NEW_CLUSTER}


def test_going_back_to_what_runs_makes_no_cluster() -> None:
    """In the middle of an upgrade the cluster that serves is of an older spec than the last one."""
    first = service_manifest()
    second = changed(first, f"{CLUSTER}.rayVersion", "2.61.0")
    running = first["spec"]["rayClusterConfig"]
    assert _effects(second, first) == {"rayClusterConfig.rayVersion": Effect.NEW_CLUSTER}
    assert _effects(second, first, running=running) == {"rayClusterConfig.rayVersion": Effect.IGNORED}


def test_suspension() -> None:
    old = service_manifest()
    suspended = _with(old, {"spec.suspend": True})
    assert _effects(old, suspended) == {"suspend": Effect.SUSPEND}
    assert _effects(suspended, _with(suspended, {"spec.suspend": False})) == {"suspend": Effect.RESUME}
    edited = _with(suspended, {f"{CLUSTER}.rayVersion": "2.61.0", CONFIG: OTHER})
    assert set(_effects(suspended, edited).values()) == {Effect.NEXT_CLUSTER}


def test_nested_suspension_reaches_the_cluster_that_serves_but_for_kuberay_1_7() -> None:
    old = service_manifest()
    new = changed(old, f"{CLUSTER}.suspend", True)
    found = {rules: list(_effects(old, new, rules).values()) for rules in Rules}
    assert found == {
        Rules.RAYWARD: [Effect.SUSPEND],
        Rules.KUBERAY_1_6: [Effect.SUSPEND],
        Rules.KUBERAY_1_7: [Effect.NEXT_CLUSTER],
    }
    assert list(_effects(new, changed(new, f"{CLUSTER}.suspend", False)).values()) == [Effect.RESUME]
    moved = changed(new, f"{CLUSTER}.rayVersion", "2.61.0")
    assert set(_effects(old, moved).values()) == {Effect.NEW_CLUSTER}, "the new cluster waits, the old one serves"


def test_incremental_upgrades() -> None:
    old = service_manifest()
    new = changed(old, "spec.upgradeStrategy", {"type": "NewClusterWithIncrementalUpgrade"})
    found = {rules: list(_effects(old, new, rules).values()) for rules in Rules}
    assert found == {
        Rules.RAYWARD: [Effect.REFUSED],
        Rules.KUBERAY_1_6: [Effect.REFUSED],
        Rules.KUBERAY_1_7: [Effect.IN_PLACE],
    }


@pytest.mark.parametrize(
    ("name", "rules", "effect"),
    [
        (labels.PAUSE, Rules.RAYWARD, Effect.IN_PLACE),
        (labels.PAUSE, Rules.KUBERAY_1_7, Effect.NEXT_CLUSTER),
        (labels.INITIALIZING_TIMEOUT, Rules.KUBERAY_1_7, Effect.IN_PLACE),
        ("team", Rules.RAYWARD, Effect.NEXT_CLUSTER),
    ],
)
def test_annotations(name: str, rules: Rules, effect: Effect) -> None:
    old = service_manifest()
    new = changed(old, "metadata.annotations", {name: "true" if name == labels.PAUSE else "60"})
    assert list(_effects(old, new, rules).values()) == [effect]
