"""Which pods are of an earlier template; KubeRay's own pods, as recorded, are of theirs."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from rayward.changes.podtemplates import older_pods
from rayward.changes.revisions import Revision
from tests.kinds.clusters import Object, changed
from tests.operator.children import RECORDED, manifests

_HEAD = "spec.headGroupSpec.template"
_WORKER = "spec.workerGroupSpecs.0.template"
_CHILDREN: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))


def _pods(name: str) -> list[Object]:
    return [one for one in _CHILDREN[name]["children"] if one["kind"] == "Pod"]


@pytest.mark.parametrize("name", manifests())
def test_pods_as_kuberay_makes_them_are_of_their_template(name: str) -> None:
    assert older_pods(manifests()[name].cluster, _pods(name)) == []


def test_there_are_such_pods() -> None:
    assert sum(len(_pods(name)) for name in manifests()) > 50


def _of(name: str, path: str, value: Any) -> list[str]:
    """The node types of the pods that a changed template finds older."""
    cluster = changed(manifests()[name].cluster, path, value)
    return [one["metadata"]["labels"]["ray.io/node-type"] for one in older_pods(cluster, _pods(name))]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.containers.0.image", "rayproject/ray:2"),
        ("spec.containers.0.env", [{"name": "RELEASE", "value": "2"}]),
        ("spec.containers.0.resources", {"limits": {"cpu": "3"}}),
        ("spec.nodeSelector", {"zone": "b"}),
        ("spec.serviceAccountName", "other"),
        ("spec.initContainers", [{"name": "first", "image": "busybox"}]),
        ("metadata.labels", {"tier": "y"}),
        ("metadata.annotations", {"example.com/note": "y"}),
    ],
)
def test_what_a_template_asks_for_and_a_pod_lacks_makes_it_older(path: str, value: Any) -> None:
    assert _of("plain", f"{_HEAD}.{path}", value) == ["head"]
    assert _of("plain", f"{_WORKER}.{path}", value) == ["worker", "worker"]


def test_the_same_amount_in_other_words_is_the_same() -> None:
    small = {"limits": {"cpu": "3000m", "memory": "5120Mi"}}
    assert _of("labels-and-resources", f"{_HEAD}.spec.containers.0.resources", small) == []


def test_a_pod_that_is_younger_than_the_spec_is_of_it_whatever_admission_made_of_it() -> None:
    cluster = changed(manifests()["plain"].cluster, f"{_HEAD}.spec.containers.0.image", "rayproject/ray:2")
    written = {"manager": "kubectl", "time": "2026-01-01T00:00:10Z", "fieldsV1": {"f:spec": {}}}
    cluster = changed(cluster, "metadata.managedFields", [written])
    for made, older in (("2026-01-01T00:00:09Z", 1), ("2026-01-01T00:00:10Z", 1), ("2026-01-01T00:00:11Z", 0)):
        pods = [changed(pod, "metadata.creationTimestamp", made) for pod in _pods("plain")]
        assert len(older_pods(cluster, pods)) == older


def _at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def _written(second: int, *parts: str) -> Object:
    return {"manager": "m", "time": _at(second), "fieldsV1": {"f:spec": {part: {} for part in parts}}}


@pytest.mark.parametrize(
    ("parts", "older"),
    [
        (["f:workerGroupSpecs"], ["worker", "worker"]),
        (["f:headGroupSpec"], ["head"]),
        (["f:headGroupSpec", "f:workerGroupSpecs"], ["head", "worker", "worker"]),
        (["f:suspend"], []),
    ],
)
def test_a_write_makes_pods_older_only_of_the_part_that_it_was_of(parts: list[str], older: list[str]) -> None:
    """Ray's autoscaler writes the list of groups, and a registry mirror changes each image."""
    cluster = manifests()["plain"].cluster
    fields = [_written(1, "f:headGroupSpec", "f:workerGroupSpecs"), _written(9, *parts)]
    cluster = changed(cluster, "metadata.managedFields", fields)
    pods = [_mirrored(pod, 5) for pod in _pods("plain")]
    assert [one["metadata"]["labels"]["ray.io/node-type"] for one in older_pods(cluster, pods)] == older


def _mirrored(pod: Object, second: int) -> Object:
    (container, *_) = pod["spec"]["containers"]
    pod = changed(pod, "spec.containers.0.image", f"mirror.example.com/{container['image']}")
    return changed(pod, "metadata.creationTimestamp", _at(second))


@pytest.mark.parametrize(
    ("before", "older"),
    [
        ([], 3),
        ([(9, "now")], 3),
        ([(1, "now"), (9, "now")], 0),
        ([(1, "other"), (9, "now")], 3),
        ([(1, "now"), (3, "other"), (9, "now")], 3),
        ([(1, "other"), (3, "now"), (9, "now")], 0),
        ([(5, "now"), (9, "now")], 0),
        ([(1, "other"), (5, "now"), (9, "now")], 3),
    ],
    ids=[
        "nothing is recorded",
        "nothing of then",
        "another size",
        "another template",
        "another one between",
        "another one before",
        "within the second",
        "perhaps of the one before",
    ],
)
def test_pods_of_a_template_that_was_asked_for_then_and_is_now_are_of_it(
    before: list[tuple[int, str]], older: int
) -> None:
    cluster = changed(manifests()["plain"].cluster, "metadata.managedFields", [_written(9)])
    other = changed(cluster, f"{_HEAD}.metadata", {"labels": {"a": "b"}})
    other = changed(other, f"{_WORKER}.metadata", {"labels": {"a": "b"}})
    sized = changed(cluster, "spec.workerGroupSpecs.0.replicas", 7)
    specs = {"now": sized["spec"], "other": other["spec"]}
    revisions = [Revision(number, specs[which], changed_at=_at(at)) for number, (at, which) in enumerate(before, 1)]
    pods = [_mirrored(pod, 5) for pod in _pods("plain")]
    assert len(older_pods(cluster, pods, revisions)) == older


def test_pods_of_a_group_that_is_gone_are_passed_over() -> None:
    cluster = changed(manifests()["plain"].cluster, "spec.workerGroupSpecs", [])
    assert older_pods(cluster, _pods("plain")) == []
