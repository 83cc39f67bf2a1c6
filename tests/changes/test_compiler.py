from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.compiler import compile_patch
from rayward.changes.intents import (
    Annotate,
    Intent,
    Scale,
    SetEnv,
    SetField,
    SetImage,
    SetResources,
    Suspend,
    parse_setting,
)
from rayward.changes.outcomes import Invalid, NotFound, UsageError
from rayward.kube.machinery.patch.json_patch import apply as apply_json_patch
from tests.kinds.clusters import Object, changed, manifest, service_manifest

GROUP = "/spec/workerGroupSpecs/0"
_RAY = "spec.headGroupSpec.template.spec.containers[ray]"
NAME = {"op": "test", "path": f"{GROUP}/groupName", "value": "small"}


def _live(body: Object | None = None) -> Object:
    return changed(body or manifest(), "metadata.resourceVersion", "7")


def _patched(kind: str, live: Object, *intents: Intent) -> Object:
    operations = compile_patch(kind, live, intents).operations
    return apply_json_patch(live, list(operations))


def test_a_size_is_guarded_by_the_name_of_its_group() -> None:
    assert compile_patch("RayCluster", _live(), [Scale("small", 3)]).operations == (
        NAME,
        {"op": "add", "path": f"{GROUP}/replicas", "value": 3},
    )


def test_what_is_so_already_is_no_patch() -> None:
    assert not compile_patch("RayCluster", _live(), [Scale("small", 1)]).operations


def test_a_group_is_found_wherever_it_is() -> None:
    body = manifest()
    body["spec"]["workerGroupSpecs"].insert(0, {**body["spec"]["workerGroupSpecs"][0], "groupName": "first"})
    patch = compile_patch("RayCluster", _live(body), [Scale("small", 3)])
    assert [operation["path"] for operation in patch.operations] == [
        "/spec/workerGroupSpecs/1/groupName",
        "/spec/workerGroupSpecs/1/replicas",
    ]


def test_a_group_that_is_not_there() -> None:
    with pytest.raises(NotFound, match="'large'") as caught:
        compile_patch("RayCluster", _live(), [Scale("large", 3)])
    assert "small" in caught.value.why


def test_a_missing_parent_is_made_under_a_guard_on_the_version() -> None:
    live = _live()
    patch = compile_patch("RayCluster", live, [SetResources("small", requests={"cpu": "2"})])
    assert {"op": "test", "path": "/metadata/resourceVersion", "value": "7"} in patch.operations
    after = apply_json_patch(live, list(patch.operations))
    container = after["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"requests": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("intent", "path", "value"),
    [
        (SetImage("x:1", "small"), "spec.workerGroupSpecs.0.template.spec.containers.0.image", "x:1"),
        (SetImage("x:1", "head"), "spec.headGroupSpec.template.spec.containers.0.image", "x:1"),
        (SetField("rayVersion", "2.61.0"), "spec.rayVersion", "2.61.0"),
        (Suspend(), "spec.suspend", True),
        (Annotate("a/b~c", "d"), "metadata.annotations.a/b~c", "d"),
        (Scale("small", max_replicas=9), "spec.workerGroupSpecs.0.maxReplicas", 9),
    ],
)
def test_what_an_intent_changes(intent: Intent, path: str, value: Any) -> None:
    live = _live()
    found: Any = _patched("RayCluster", live, intent)
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    assert found == value


def test_an_image_of_all_groups_in_a_service() -> None:
    live = _live(service_manifest())
    spec = _patched("RayService", live, SetImage("x:1"))["spec"]["rayClusterConfig"]
    templates = [spec["headGroupSpec"]["template"], spec["workerGroupSpecs"][0]["template"]]
    assert [template["spec"]["containers"][0]["image"] for template in templates] == ["x:1", "x:1"]


def test_variables_come_change_and_go() -> None:
    live = _live()
    first = _patched("RayCluster", live, SetEnv("A", "1", "small"), SetEnv("B", "2", "small"))
    container = first["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    second = _patched(
        "RayCluster", first, SetEnv("A", None, "small"), SetEnv("B", "3", "small"), SetEnv("C", "4", "small")
    )
    container = second["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]


def test_of_two_settings_of_one_thing_the_later_counts() -> None:
    live = _live()
    after = _patched(
        "RayCluster", live, SetEnv("A", "1", "small"), SetEnv("A", "2", "small"), SetEnv("B", "1", "small")
    )
    after = _patched("RayCluster", after, SetEnv("B", "2", "small"), SetEnv("B", None, "small"), SetEnv("C", "1"))
    container = after["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "A", "value": "2"}, {"name": "C", "value": "1"}]


@pytest.mark.parametrize(
    "settings",
    [
        ("small.max=8", "spec.workerGroupSpecs[small].maxReplicas=9"),
        ("spec.workerGroupSpecs[small].maxReplicas=9", "small.max=8"),
        (f"{_RAY}.env[A].value=1", "head.env.A=2"),
        ("head.env.B=2", f"{_RAY}.env=[{{name: A, value: b}}]"),
        (f"{_RAY}.env[A]=null", f"{_RAY}.env[A].value=2"),
    ],
)
def test_settings_of_one_field_in_two_words_are_refused(settings: tuple[str, str]) -> None:
    live = _live(
        changed(manifest(), "spec.headGroupSpec.template.spec.containers.0.env", [{"name": "A", "value": "0"}])
    )
    with pytest.raises(UsageError, match="two settings") as caught:
        compile_patch("RayCluster", live, map(parse_setting, settings))
    assert caught.value.following


@pytest.mark.parametrize(
    "settings",
    [
        ("image=x", f"{_RAY}.image=y"),
        (f"{_RAY}.image=x", f"{_RAY}.image=y"),
        (f"{_RAY}.env[A].value=1", f"{_RAY}.image=y", "head.env.B=2", "small.max=8"),
        (f"{_RAY}.args=[a]", f"{_RAY}.args=null", f"{_RAY}.image=y"),
    ],
)
def test_of_two_settings_in_the_same_words_the_later_counts(settings: tuple[str, ...]) -> None:
    live = _live(
        changed(manifest(), "spec.headGroupSpec.template.spec.containers.0.env", [{"name": "A", "value": "0"}])
    )
    after = _patched("RayCluster", live, *map(parse_setting, settings))
    container = after["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "y"
    assert "args" not in container


def test_bounds_that_are_set_together_are_judged_together() -> None:
    most = manifest()["spec"]["workerGroupSpecs"][0]["maxReplicas"]
    intents = (Scale("small", min_replicas=most + 2), Scale("small", max_replicas=most + 5))
    (group,) = _patched("RayCluster", _live(), *intents)["spec"]["workerGroupSpecs"]
    assert (group["minReplicas"], group["maxReplicas"]) == (most + 2, most + 5)


@pytest.mark.parametrize("path", ["workerGroupSpecs[small].numOfHosts", "workerGroupSpecs.0.numOfHosts"])
def test_a_field_behind_a_list_is_guarded_by_the_name_of_its_item(path: str) -> None:
    patch = compile_patch("RayCluster", _live(), [SetField(path, 2)])
    assert patch.operations == (NAME, {"op": "add", "path": f"{GROUP}/numOfHosts", "value": 2})


def test_an_item_without_a_name_is_guarded_by_what_it_is() -> None:
    live = _live(changed(manifest(), "spec.headGroupSpec.template.spec.containers.0.args", ["a", "b"]))
    path = "headGroupSpec.template.spec.containers[ray].args.1"
    patch = compile_patch("RayCluster", live, [SetField(path, "c")])
    pointer = "/spec/headGroupSpec/template/spec/containers/0/args/1"
    assert {"op": "test", "path": pointer, "value": "b"} in patch.operations
    assert patch.writes == ({"op": "replace", "path": pointer, "value": "c"},)


def test_a_name_with_dots_is_in_brackets() -> None:
    path = "headGroupSpec.template.metadata.annotations[example.com/a]"
    after = _patched("RayCluster", _live(), SetField(path, "b"))
    assert after["spec"]["headGroupSpec"]["template"]["metadata"]["annotations"]["example.com/a"] == "b"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("workerGroupSpecs[large].replicas", 1, "no item 'large'"),
        ("workerGroupSpecs.7.replicas", 1, "no item '7'"),
        ("rayVersion.x", 1, "is a value"),
        ("absent.0.x", 1, "is not there"),
        ("workerGroupSpecs[small", 1, "cannot read the path"),
        ("workerGroupSpecs", [], "would lose"),
        ("headGroupSpec", "none", "would lose"),
    ],
)
def test_a_path_that_leads_nowhere_and_a_value_that_loses_items_are_refused(path: str, value: Any, said: str) -> None:
    with pytest.raises((Invalid, NotFound), match=said) as caught:
        compile_patch("RayCluster", _live(), [SetField(path, value)])
    assert caught.value.following


def _full() -> Object:
    """A head whose container has more than an image, in a template that has more than containers."""
    body = _live(changed(manifest(), "spec.headGroupSpec.template.spec.volumes", [{"name": "v", "emptyDir": {}}]))
    more = {
        "env": [{"name": "A", "value": "1"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "2Gi"}},
    }
    at = body["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    at |= more
    return body


_POD_SPEC = "headGroupSpec.template.spec"


@pytest.mark.parametrize(
    ("path", "value", "lost"),
    [
        (f"{_POD_SPEC}.containers[ray]", {"name": "ray", "image": "x"}, ["env", "volumeMounts", "resources"]),
        (f"{_POD_SPEC}.containers", [{"name": "ray", "image": "x"}], ["env", "volumeMounts", "resources"]),
        (_POD_SPEC, {"containers": [{"name": "ray"}]}, ["image", "env", "volumeMounts", "resources", "volumes"]),
        (f"{_POD_SPEC}.containers[ray].resources", {"limits": {"cpu": "3"}}, ["requests", "limits.memory"]),
        ("workerGroupSpecs[small]", {"groupName": "small", "replicas": 3}, ["minReplicas", "maxReplicas", "template"]),
    ],
)
def test_an_object_that_lacks_what_the_live_one_has_is_refused(path: str, value: Any, lost: list[str]) -> None:
    with pytest.raises(Invalid, match="would lose") as caught:
        compile_patch("RayCluster", _full(), [SetField(path, value)])
    for one in lost:
        assert f".{one}\n" in f"{caught.value.why}\n"
    assert "=null" in caught.value.following


def test_an_object_that_has_all_that_the_live_one_has_replaces_it() -> None:
    live = _full()
    wanted = {**live["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0], "image": "x", "args": ["a"]}
    after = _patched("RayCluster", live, SetField(f"{_POD_SPEC}.containers[ray]", wanted))
    assert after["spec"]["headGroupSpec"]["template"]["spec"]["containers"] == [wanted]


def test_what_an_object_would_lose_goes_where_it_is_named() -> None:
    after = _patched("RayCluster", _full(), SetField(f"{_POD_SPEC}.containers[ray][env]", None))
    assert "env" not in after["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]


def test_an_item_that_is_named_may_go() -> None:
    assert not _patched("RayCluster", _live(), SetField("workerGroupSpecs[small]", None))["spec"]["workerGroupSpecs"]


def test_replicas_that_the_autoscaler_owns_are_left_alone_unless_asked_for() -> None:
    live = _live(changed(manifest(), "spec.enableInTreeAutoscaling", True))
    with pytest.raises(Invalid, match="autoscaler") as caught:
        compile_patch("RayCluster", live, [Scale("small", 3)])
    assert "--override-autoscaler" in caught.value.following
    assert compile_patch("RayCluster", live, [Scale("small", 3)], override_autoscaler=True).writes
    assert compile_patch("RayCluster", live, [Scale("small", max_replicas=9)]).writes


@pytest.mark.parametrize("intent", [Scale("small", 9), Scale("small", min_replicas=9), Scale("small", max_replicas=-1)])
def test_sizes_that_would_be_cut_or_contradict_are_refused(intent: Scale) -> None:
    with pytest.raises(Invalid, match="small"):
        compile_patch("RayCluster", _live(), [intent])


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("image=x:1", SetImage("x:1")),
        ("small.image=x:1", SetImage("x:1", "small")),
        ("small.replicas=5", Scale("small", replicas=5)),
        ("small.min=1", Scale("small", min_replicas=1)),
        ("small.max=8", Scale("small", max_replicas=8)),
        ("env.A=b=c", SetEnv("A", "b=c")),
        ("small.env.A=b", SetEnv("A", "b", "small")),
        ("small.env.A-", SetEnv("A", None, "small")),
        ("env.A-", SetEnv("A", None)),
        ("small.requests.nvidia.com/gpu=1", SetResources("small", requests={"nvidia.com/gpu": "1"})),
        ("head.limits.memory=4Gi", SetResources("head", limits={"memory": "4Gi"})),
        ("suspend=true", Suspend()),
        ("suspend=false", Suspend(suspend=False)),
        ("rayVersion=2.61.0", SetField("rayVersion", "2.61.0")),
    ],
)
def test_settings_of_the_command_line(text: str, intent: Intent) -> None:
    assert parse_setting(text) == intent


@pytest.mark.parametrize(
    "text", ["", "image", "small.replicas=-1", "small.replicas=many", "nonsense=1", ".image=x", "image=", "suspend=x"]
)
def test_what_is_no_setting(text: str) -> None:
    with pytest.raises(UsageError):
        parse_setting(text)
