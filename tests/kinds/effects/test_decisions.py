from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import labels
from rayward.kinds.effects import Effect, differences, effects, release_change, renewal, same_meaning
from rayward.kinds.hashing import release_hash
from tests.kinds.clusters import changed, manifest, service_manifest, typed

_EDITS = {
    "spec.rayVersion": ["2.60.0", "2.61.0", ""],
    "spec.suspend": [True, False, None],
    "spec.enableInTreeAutoscaling": [True, False, None],
    "spec.workerGroupSpecs.0.replicas": [0, 1, 2],
    "spec.workerGroupSpecs.0.maxReplicas": [3, 4, 5],
    "spec.workerGroupSpecs.0.groupName": ["small", "large"],
    "spec.workerGroupSpecs.0.template.spec.tolerations": [None, [{"operator": "Exists"}]],
    "spec.workerGroupSpecs.0.template.spec.containers.0.image": ["a:1", "b:2"],
    "spec.workerGroupSpecs.-": [{"groupName": "more", "template": {"spec": {"containers": [{"name": "r"}]}}}],
    "spec.headGroupSpec.template.metadata": [None, {}, {"labels": {"a": "b"}}],
}


@st.composite
def _clusters(draw: st.DrawFn) -> dict[str, Any]:
    body = manifest()
    for path, values in _EDITS.items():
        if draw(st.booleans()):
            body = changed(body, path, draw(st.sampled_from(values)))
    return body


@given(_clusters(), _clusters())
def test_a_new_cluster_is_predicted_where_the_hash_asks_for_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    before, after = (changed(service_manifest(), "spec.rayClusterConfig", body["spec"]) for body in (old, new))
    found = effects("RayService", before, after, problems=())
    change = release_change(typed(old).spec, typed(new).spec)
    assert (Effect.NEW_CLUSTER in found) == (change.effect is Effect.NEW_CLUSTER)
    same = release_hash(typed(old).spec) == release_hash(typed(new).spec)
    assert same == (change.effect is Effect.IGNORED)


@given(_clusters(), _clusters())
def test_differences_are_found_exactly_where_versions_differ(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert bool(list(differences(old, new))) == (_without_null(old) != _without_null(new))


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(part) for name, part in value.items() if part is not None}
    return [_without_null(part) for part in value] if isinstance(value, list) else value


def test_the_recorded_release_counts_before_the_live_spec() -> None:
    spec = typed(manifest()).spec
    assert release_change(spec, spec, running_hash="v1-other").effect is Effect.NEW_CLUSTER
    assert release_change(spec, spec, running_hash="v1-other", in_place_only=True).effect is Effect.NEXT_CLUSTER


_GROUP = "spec.workerGroupSpecs.0"


@pytest.mark.parametrize(
    ("path", "value", "effect"),
    [
        (f"{_GROUP}.template.spec.containers.0.image", "x:2", Effect.ROLLING_WORKERS),
        (f"{_GROUP}.rayStartParams", {"num-cpus": "2"}, Effect.ROLLING_WORKERS),
        (f"{_GROUP}.maxReplicas", 9, Effect.IGNORED),
        (f"{_GROUP}.groupName", "large", Effect.NEXT_CLUSTER),
        (f"{_GROUP}.numOfHosts", 2, Effect.NEXT_CLUSTER),
        ("spec.workerGroupSpecs", [], Effect.NEXT_CLUSTER),
        ("spec.workerGroupSpecs.-", {"groupName": "more", "template": {"spec": {"containers": []}}}, Effect.SCALE),
        ("spec.headGroupSpec.template.spec.containers.0.image", "x:2", Effect.NEXT_CLUSTER),
        ("spec.rayVersion", "2.61.0", Effect.NEXT_CLUSTER),
    ],
)
def test_workers_are_rolled_only_where_they_alone_change(path: str, value: Any, effect: Effect) -> None:
    running, wanted = typed(manifest()).spec, typed(changed(manifest(), path, value)).spec
    assert release_change(running, wanted, in_place_only=True, rolls_workers=True).effect is effect
    if effect is Effect.ROLLING_WORKERS:
        assert release_change(running, wanted, in_place_only=True).effect is Effect.NEXT_CLUSTER
        assert release_change(running, wanted, rolls_workers=True).effect is Effect.NEW_CLUSTER


@pytest.mark.parametrize(
    ("strategy", "annotation", "effect"),
    [
        (None, "", Effect.NEXT_PODS),
        ("None", "workers", Effect.ROLLING_WORKERS),
        ("Recreate", "workers", Effect.RECREATE),
        (None, "everything", Effect.NEXT_PODS),
    ],
)
def test_renewal(strategy: str | None, annotation: str, effect: Effect) -> None:
    body = changed(manifest(), "spec.upgradeStrategy", {"type": strategy})
    body["metadata"]["annotations"] = {labels.ROLLING_UPDATE: annotation}
    assert renewal(typed(body)) is effect


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "1000m", True),
        (1, "1", True),
        ("2Gi", "2048Mi", True),
        (None, [], True),
        ("", {}, True),
        (True, "1", False),
        ("a", "b", False),
        ("1", "2", False),
    ],
)
def test_same_meaning(one: Any, other: Any, same: bool) -> None:
    assert same_meaning(one, other) is same
