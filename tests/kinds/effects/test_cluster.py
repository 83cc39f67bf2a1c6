from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.effects import Effect, Rules, effects
from tests.kinds.clusters import Object, changed, manifest

GROUP = "spec.workerGroupSpecs.0"
POD = f"{GROUP}.template.spec"
HEAD = "spec.headGroupSpec.template.spec"
ROLLING = {labels.ROLLING_UPDATE: "workers"}


def _autoscaled() -> Object:
    return changed(manifest(), "spec.enableInTreeAutoscaling", True)


def _only(old: Object, new: Object, rules: Rules = Rules.RAYWARD) -> tuple[str, Effect, tuple[str, ...]]:
    found = effects("RayCluster", old, new, rules)
    assert len(found) == 1, found
    change = found.changes[0]
    assert change.why
    return change.path, change.effect, change.restarts


@pytest.mark.parametrize(
    ("strategy", "annotations", "path", "value", "effect", "restarts"),
    [
        ("None", {}, f"{POD}.containers.0.image", "x:1", Effect.NEXT_PODS, ()),
        ("None", ROLLING, f"{POD}.containers.0.image", "x:1", Effect.ROLLING_WORKERS, ("small",)),
        ("None", ROLLING, f"{HEAD}.containers.0.image", "x:1", Effect.NEXT_PODS, ()),
        ("Recreate", {}, f"{POD}.containers.0.image", "x:1", Effect.RECREATE, ("headgroup", "small")),
        ("Recreate", ROLLING, f"{HEAD}.containers.0.image", "x:1", Effect.RECREATE, ("headgroup", "small")),
        ("None", {}, f"{POD}.tolerations", [{"operator": "Exists"}], Effect.NEXT_PODS, ()),
        ("None", ROLLING, f"{POD}.tolerations", [{"operator": "Exists"}], Effect.ROLLING_WORKERS, ("small",)),
        ("None", ROLLING, f"{HEAD}.tolerations", [{"operator": "Exists"}], Effect.NEXT_PODS, ()),
        ("Recreate", {}, f"{POD}.schedulingGates", [{"name": "q"}], Effect.RECREATE, ("small",)),
        ("Recreate", {}, f"{HEAD}.schedulingGates", [{"name": "q"}], Effect.NEXT_PODS, ()),
        ("None", ROLLING, "spec.headGroupSpec.rayStartParams.port", "6380", Effect.ROLLING_WORKERS, ("small",)),
        ("None", {}, f"{GROUP}.numOfHosts", 2, Effect.RECREATE, ("small",)),
    ],
)
def test_templates_by_class(
    strategy: str, annotations: dict[str, str], path: str, value: Any, effect: Effect, restarts: tuple[str, ...]
) -> None:
    old = changed(manifest(), "spec.upgradeStrategy", {"type": strategy})
    old["metadata"]["annotations"] = annotations
    assert _only(old, changed(old, path, value))[1:] == (effect, restarts)


_IMAGE = "template.spec.containers[0].image"


@pytest.mark.parametrize(
    ("changed_fields", "path", "value", "effect", "restarts"),
    [
        (f"workerGroupSpecs[small].{_IMAGE}", "spec.upgradeStrategy.type", "Recreate", Effect.RECREATE, 2),
        (f"headGroupSpec.{_IMAGE}", "spec.upgradeStrategy.type", "Recreate", Effect.RECREATE, 2),
        (f"workerGroupSpecs[small].{_IMAGE}", "metadata.annotations", ROLLING, Effect.ROLLING_WORKERS, 1),
        (f"headGroupSpec.{_IMAGE}, 3 more", "metadata.annotations", ROLLING, Effect.ROLLING_WORKERS, 1),
        (f"headGroupSpec.{_IMAGE}", "metadata.annotations", ROLLING, Effect.IN_PLACE, 0),
        ("", "spec.upgradeStrategy.type", "Recreate", Effect.IN_PLACE, 0),
    ],
)
def test_another_strategy_lets_go_an_edit_that_pods_wait_for(
    changed_fields: str, path: str, value: Any, effect: Effect, restarts: int
) -> None:
    """The condition is as Rayward's operator writes it."""
    old = changed(manifest(), "spec.upgradeStrategy", {"type": "None"})
    told = {"type": "Drifted", "status": "True" if changed_fields else "False", "reason": "TemplateChanged"}
    message = f"Pods a, b were created from an older spec; changed: {changed_fields}"
    old["status"] = {"conditions": [{**told, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    new = changed(old, path, value)
    found = _only(old, new)
    assert (found[1], len(found[2])) == (effect, restarts)
    assert _only(old, new, Rules.KUBERAY_1_7)[1] in (Effect.IN_PLACE, Effect.IGNORED)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (f"{POD}.containers.0.resources", {"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}),
        (f"{POD}.containers.0.resources", {"limits": {"memory": "2Gi"}}, {"limits": {"memory": "2048Mi"}}),
        (f"{POD}.containers.0.args", None, []),
        (f"{GROUP}.template.metadata", None, {}),
    ],
)
def test_another_spelling_replaces_no_pod(path: str, before: Any, after: Any) -> None:
    old = changed(manifest(), path, before)
    assert _only(old, changed(old, path, after))[1] is Effect.IGNORED


@pytest.mark.parametrize(
    ("old", "path", "value", "effect"),
    [
        (manifest(), f"{GROUP}.replicas", 3, Effect.SCALE),
        (manifest(), f"{GROUP}.replicas", 0, Effect.SCALE),
        (_autoscaled(), f"{GROUP}.replicas", 3, Effect.SCALE),
        (_autoscaled(), f"{GROUP}.replicas", 0, Effect.IGNORED),
        (_autoscaled(), f"{GROUP}.maxReplicas", 9, Effect.IN_PLACE),
        (_autoscaled(), f"{GROUP}.minReplicas", 2, Effect.SCALE),
        (changed(manifest(), f"{GROUP}.replicas", 7), f"{GROUP}.replicas", 9, Effect.IGNORED),
        (changed(manifest(), f"{GROUP}.replicas", 7), f"{GROUP}.maxReplicas", 5, Effect.SCALE),
        (_autoscaled(), "spec.autoscalerOptions", {"idleTimeoutSeconds": 5}, Effect.IN_PLACE),
        (_autoscaled(), "spec.autoscalerOptions", {"image": "x"}, Effect.NEXT_PODS),
        (_autoscaled(), f"{GROUP}.scaleStrategy", {"workersToDelete": ["c-small-worker-x7k2p"]}, Effect.SCALE),
    ],
)
def test_sizes(old: Object, path: str, value: Any, effect: Effect) -> None:
    assert _only(old, changed(old, path, value))[1] is effect


_MORE = {"groupName": "more", "replicas": 1, "minReplicas": 0, "maxReplicas": 1}


@pytest.mark.parametrize(
    ("rules", "added", "removed"),
    [
        (Rules.RAYWARD, Effect.SCALE, Effect.SCALE),
        (Rules.KUBERAY_1_6, Effect.SCALE, Effect.IGNORED),
        (Rules.KUBERAY_1_7, Effect.SCALE, Effect.IGNORED),
    ],
)
def test_groups_come_and_go(rules: Rules, added: Effect, removed: Effect) -> None:
    small = manifest()
    template = small["spec"]["workerGroupSpecs"][0]["template"]
    large = changed(small, "spec.workerGroupSpecs.-", {**_MORE, "template": template})
    assert _only(small, large, rules)[:2] == ("spec.workerGroupSpecs[more]", added)
    assert _only(large, small, rules)[:2] == ("spec.workerGroupSpecs[more]", removed)


def test_the_order_of_groups_matters_only_to_a_hash() -> None:
    old = manifest()
    template = old["spec"]["workerGroupSpecs"][0]["template"]
    old = changed(old, "spec.workerGroupSpecs.-", {**_MORE, "template": template})
    new = changed(old, "spec.workerGroupSpecs", list(reversed(old["spec"]["workerGroupSpecs"])))
    assert _only(old, new)[1] is Effect.IGNORED
    recreating = changed(old, "spec.upgradeStrategy", {"type": "Recreate"})
    new["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    assert _only(recreating, new)[1] is Effect.RECREATE


def test_a_suspended_cluster_has_no_pods_to_replace() -> None:
    old = changed(changed(manifest(), "spec.suspend", True), "spec.upgradeStrategy", {"type": "Recreate"})
    assert _only(old, changed(old, "spec.rayVersion", "2.61.0"))[1] is Effect.NEXT_PODS
    resumed = changed(changed(old, "spec.suspend", False), "spec.rayVersion", "2.61.0")
    assert {change.path: change.effect for change in effects("RayCluster", old, resumed)} == {
        "spec.rayVersion": Effect.NEXT_PODS,
        "spec.suspend": Effect.RESUME,
    }


def test_kuberay_resumes_only_when_it_is_told_to() -> None:
    old = changed(manifest(), "spec.suspend", True)
    removed = manifest()
    assert _only(old, removed)[1] is Effect.RESUME
    assert _only(old, removed, Rules.KUBERAY_1_6)[1] is Effect.IGNORED
    assert _only(old, changed(old, "spec.suspend", False), Rules.KUBERAY_1_6)[1] is Effect.RESUME


def test_a_spec_that_validation_rejects_is_refused_but_for_its_suspension() -> None:
    new = changed(changed(manifest(), f"{GROUP}.minReplicas", 9), "spec.suspend", True)
    found = {change.path: change for change in effects("RayCluster", manifest(), new)}
    assert found["spec.suspend"].effect is Effect.SUSPEND
    refused = found["spec.workerGroupSpecs[small].minReplicas"]
    assert refused.effect is Effect.REFUSED
    assert "lower min" in refused.why or "minReplicas" in refused.why


def test_what_the_api_server_refuses() -> None:
    old = changed(manifest(), "spec.managedBy", "ray.io/kuberay-operator")
    new = changed(old, "spec.managedBy", "kueue.x-k8s.io/multikueue")
    assert _only(old, new)[1] is Effect.REFUSED
    redis = changed(manifest(), "spec.gcsFaultToleranceOptions", {"backend": "redis", "redisAddress": "r:1"})
    rocks = changed(manifest(), "spec.gcsFaultToleranceOptions", {"backend": "rocksdb"})
    found = {change.path: change.effect for change in effects("RayCluster", redis, rocks)}
    assert found["spec.gcsFaultToleranceOptions.backend"] is Effect.REFUSED


def test_an_object_of_another_controller_is_left_alone() -> None:
    old = changed(manifest(), "spec.managedBy", "kueue.x-k8s.io/multikueue")
    assert _only(old, changed(old, f"{GROUP}.replicas", 3))[1] is Effect.IGNORED


@pytest.mark.parametrize(
    ("name", "strategy", "annotations", "effect"),
    [
        (labels.ROLLING_UPDATE, "None", {}, Effect.IN_PLACE),
        (labels.OVERWRITE_COMMAND, "None", {}, Effect.NEXT_PODS),
        (labels.OVERWRITE_COMMAND, "None", ROLLING, Effect.ROLLING_WORKERS),
        (labels.FT_ENABLED, "Recreate", {}, Effect.RECREATE),
        (labels.ENABLE_SERVE_SERVICE, "None", {}, Effect.IN_PLACE),
        ("team", "None", {}, Effect.IGNORED),
    ],
)
def test_annotations(name: str, strategy: str, annotations: dict[str, str], effect: Effect) -> None:
    old = changed(manifest(), "spec.upgradeStrategy", {"type": strategy})
    old["metadata"]["annotations"] = annotations
    new = changed(old, "metadata.annotations", {**annotations, name: "true"})
    if name == labels.ROLLING_UPDATE:
        new["metadata"]["annotations"][name] = "workers"
    assert _only(old, new)[1] is effect


def test_nothing_changed() -> None:
    found = effects("RayCluster", manifest(), manifest())
    assert not found.changes
    assert found.strongest is None


def test_the_strongest_effect_and_every_group_that_restarts() -> None:
    old = changed(manifest(), "spec.upgradeStrategy", {"type": "Recreate"})
    new = changed(changed(old, "spec.rayVersion", "2.61.0"), f"{GROUP}.replicas", 2)
    found = effects("RayCluster", old, new)
    assert found.strongest is Effect.RECREATE
    assert found.restarts == ("headgroup", "small")
    assert Effect.SCALE in found


def test_an_unknown_kind() -> None:
    with pytest.raises(ValueError, match="RayCronJob"):
        effects("RayCronJob", manifest(), changed(manifest(), "spec.suspend", True))


@pytest.mark.parametrize(
    ("name", "ours", "kuberays"),
    [
        ("rayward.dev/queue-name", Effect.IN_PLACE, Effect.IGNORED),
        ("kueue.x-k8s.io/queue-name", Effect.IN_PLACE, Effect.IN_PLACE),
        ("kueue.x-k8s.io/priority-class", Effect.IN_PLACE, Effect.IN_PLACE),
        ("team", Effect.IGNORED, Effect.IGNORED),
    ],
)
def test_labels_say_who_admits(name: str, ours: Effect, kuberays: Effect) -> None:
    old = manifest()
    new = changed(old, "metadata.labels", {**old["metadata"].get("labels", {}), name: "gpus"})
    assert _only(old, new)[1:] == (ours, ())
    assert _only(old, new, Rules.KUBERAY_1_7)[1] is kuberays
