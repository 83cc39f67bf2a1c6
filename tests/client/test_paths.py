from __future__ import annotations

import pytest

from rayward.kube.client.paths import collection_path, object_path
from rayward.kube.core.resource import NODES, PODS, Resource

RAY_CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")


@pytest.mark.parametrize(
    ("resource", "namespace", "path"),
    [
        pytest.param(PODS, "a", "/api/v1/namespaces/a/pods", id="core, one namespace"),
        pytest.param(PODS, None, "/api/v1/pods", id="core, all namespaces"),
        pytest.param(PODS, "", "/api/v1/pods", id="core, empty namespace is all"),
        pytest.param(NODES, None, "/api/v1/nodes", id="cluster-wide"),
        pytest.param(NODES, "a", "/api/v1/nodes", id="cluster-wide ignores the namespace"),
        pytest.param(RAY_CLUSTERS, "a", "/apis/ray.io/v1/namespaces/a/rayclusters", id="group"),
    ],
)
def test_collections(resource: Resource, namespace: str | None, path: str) -> None:
    assert collection_path(resource, namespace) == path


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "subresource", "path"),
    [
        pytest.param(PODS, "a", "p", None, "/api/v1/namespaces/a/pods/p", id="object"),
        pytest.param(PODS, "a", "p", "status", "/api/v1/namespaces/a/pods/p/status", id="subresource"),
        pytest.param(NODES, None, "n", None, "/api/v1/nodes/n", id="cluster-wide"),
        pytest.param(NODES, None, "system:x y", None, "/api/v1/nodes/system:x%20y", id="escaped"),
    ],
)
def test_objects(resource: Resource, namespace: str | None, name: str, subresource: str | None, path: str) -> None:
    assert object_path(resource, namespace, name, subresource) == path


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        object_path(PODS, "a", name)


def test_an_object_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="a namespace is needed"):
        object_path(PODS, None, "p")


@pytest.mark.parametrize(("resource", "text"), [(PODS, "pods"), (RAY_CLUSTERS, "rayclusters.ray.io")], ids=str)
def test_a_resource_reads_as_kubectl_writes_it(resource: Resource, text: str) -> None:
    assert str(resource) == text
