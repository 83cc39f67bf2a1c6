from __future__ import annotations

import pytest

from rayward.changes.outcomes import UsageError
from rayward.changes.refs import ref_of
from rayward.changes.strategies import Strategy, with_strategy
from rayward.kinds import labels
from rayward.kinds.effects import Effect, effects
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
