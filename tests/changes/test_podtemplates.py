"""Which pods are of an earlier template; KubeRay's own pods, as recorded, are of theirs."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from rayward.changes.podtemplates import older_pods
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


def test_pods_of_a_group_that_is_gone_are_passed_over() -> None:
    cluster = changed(manifests()["plain"].cluster, "spec.workerGroupSpecs", [])
    assert older_pods(cluster, _pods("plain")) == []
