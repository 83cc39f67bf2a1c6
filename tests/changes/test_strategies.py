from __future__ import annotations

import pytest

from rayward.changes import rollouts
from rayward.changes.intents import SetField
from rayward.changes.outcomes import Invalid, UsageError
from rayward.changes.refs import ref_of
from rayward.changes.strategies import Strategy, is_ours, refuse_unheeded, with_strategy
from rayward.kinds import labels
from rayward.kinds.effects import Effect, Rules, effects
from tests.kinds.clusters import changed, manifest, service_manifest

_CONFIG = "applications:\n- name: app\n  import_path: app:other\n  route_prefix: /\n"
_IMAGE = "spec.workerGroupSpecs.0.template.spec.containers.0.image"


@pytest.mark.parametrize(
    ("strategy", "effect"),
    [("in-place", Effect.NEXT_PODS), ("rolling-workers", Effect.ROLLING_WORKERS), ("recreate", Effect.RECREATE)],
)
def test_a_cluster_is_changed_as_the_strategy_says(strategy: Strategy, effect: Effect) -> None:
    old = manifest()
    new = with_strategy(ref_of(old), changed(old, _IMAGE, "x:2"), strategy)
    found = {change.path: change.effect for change in effects("RayCluster", old, new)}
    assert found["spec.workerGroupSpecs[small].template.spec.containers[ray].image"] is effect


@pytest.mark.parametrize(("strategy", "effect"), [("in-place", Effect.IN_PLACE), ("new-cluster", Effect.NEW_CLUSTER)])
def test_a_serve_config_is_changed_as_the_strategy_says(strategy: Strategy, effect: Effect) -> None:
    old = service_manifest()
    new = with_strategy(ref_of(old), changed(old, "spec.serveConfigV2", _CONFIG), strategy)
    assert effects("RayService", old, new).strongest is effect


def test_workers_of_a_service_are_rolled_where_the_strategy_says_so() -> None:
    old = with_strategy(ref_of(service_manifest()), service_manifest(), "rolling-workers")
    path = "spec.rayClusterConfig.workerGroupSpecs.0.template.spec.containers.0.image"
    found = effects("RayService", old, changed(old, path, "x:2"))
    assert (found.strongest, found.restarts) == (Effect.ROLLING_WORKERS, ("small",))


def test_another_strategy_takes_the_annotation_of_the_first_away() -> None:
    first = with_strategy(ref_of(manifest()), manifest(), "rolling-workers")
    assert first["metadata"]["annotations"] == {labels.ROLLING_UPDATE: "workers"}
    assert with_strategy(ref_of(first), first, "recreate")["metadata"]["annotations"] == {}


@pytest.mark.parametrize(
    ("kind", "strategy"), [("RayCluster", "new-cluster"), ("RayService", "recreate"), ("RayJob", "in-place")]
)
def test_what_a_kind_does_not_have_is_refused(kind: str, strategy: Strategy) -> None:
    obj = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "x"}}
    with pytest.raises(UsageError, match=f"{kind} cannot be changed"):
        with_strategy(ref_of(obj), obj, strategy)


@pytest.mark.parametrize("rules", [Rules.KUBERAY_1_6, Rules.KUBERAY_1_7])
def test_a_strategy_that_kuberay_would_pass_over_is_refused(rules: Rules) -> None:
    old = service_manifest()
    ref = ref_of(old)
    config = with_strategy(ref, changed(old, "spec.serveConfigV2", _CONFIG), "new-cluster")
    with pytest.raises(Invalid, match="no new cluster for a Serve config alone"):
        refuse_unheeded(ref, "new-cluster", rules, effects("RayService", old, config, rules))
    both = changed(config, "spec.rayClusterConfig.rayVersion", "2.61.0")
    refuse_unheeded(ref, "new-cluster", rules, effects("RayService", old, both, rules))
    with pytest.raises(Invalid, match="one by one"):
        refuse_unheeded(ref_of(manifest()), "rolling-workers", rules, ())
    refuse_unheeded(ref, "new-cluster", Rules.RAYWARD, effects("RayService", old, config))
    assert [is_ours(name) for name in ("new-cluster", "rolling-workers", "in-place", "recreate", None)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_an_upgrade_under_kuberay_changes_a_pod_template_too() -> None:
    live = service_manifest()
    ref, setting = ref_of(live), SetField("serveConfigV2", _CONFIG)
    ours = rollouts.upgrade(ref, live, Rules.RAYWARD, [setting], "now", paused=False)
    theirs = rollouts.upgrade(ref, live, Rules.KUBERAY_1_6, [setting], "now", paused=False)
    assert [type(one).__name__ for one in ours] == ["SetField", "Annotate"]
    assert [type(one).__name__ for one in theirs] == ["SetField", "AnnotatePods"]
    with pytest.raises(Invalid, match="pause"):
        rollouts.upgrade(ref, live, Rules.KUBERAY_1_6, [setting], "now", paused=True)
