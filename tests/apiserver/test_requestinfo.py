"""The path grammar."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.requestinfo import RequestInfo, parse

_CASES = {
    "a core list": ("GET", "/api/v1/pods", ("", "v1", "pods", "", "", "", "list")),
    "a namespaced list": ("GET", "/api/v1/namespaces/a/pods", ("", "v1", "pods", "a", "", "", "list")),
    "one object": ("GET", "/api/v1/namespaces/a/pods/b", ("", "v1", "pods", "a", "b", "", "get")),
    "a subresource": ("PUT", "/api/v1/namespaces/a/pods/b/status", ("", "v1", "pods", "a", "b", "status", "update")),
    "a named group": (
        "POST",
        "/apis/apps/v1/namespaces/a/deployments",
        ("apps", "v1", "deployments", "a", "", "", "create"),
    ),
    "a cluster-scoped object": ("DELETE", "/api/v1/nodes/n", ("", "v1", "nodes", "", "n", "", "delete")),
    "a collection to delete": (
        "DELETE",
        "/apis/ray.io/v1/namespaces/a/rayclusters",
        ("ray.io", "v1", "rayclusters", "a", "", "", "deletecollection"),
    ),
    "the namespaces": ("GET", "/api/v1/namespaces", ("", "v1", "namespaces", "", "", "", "list")),
    "one namespace": ("PATCH", "/api/v1/namespaces/a", ("", "v1", "namespaces", "", "a", "", "patch")),
    "a namespace's status": (
        "GET",
        "/api/v1/namespaces/a/status",
        ("", "v1", "namespaces", "", "a", "status", "get"),
    ),
    "a namespace's finalizers": (
        "PUT",
        "/api/v1/namespaces/a/finalize",
        ("", "v1", "namespaces", "", "a", "finalize", "update"),
    ),
    "the old way to watch": (
        "GET",
        "/api/v1/watch/namespaces/a/pods/b",
        ("", "v1", "pods", "a", "b", "", "watch"),
    ),
    "a subresource of the old way": (
        "GET",
        "/api/v1/watch/namespaces/a/pods/b/exec",
        ("", "v1", "pods", "a", "b", "exec", "watch"),
    ),
    "another method there": ("POST", "/api/v1/watch/namespaces/a/pods", ("", "v1", "pods", "a", "", "", "watch")),
    "a slash at the end": ("GET", "/api/v1/pods/", ("", "v1", "pods", "", "", "", "list")),
}


@pytest.mark.parametrize(("method", "path", "parts"), _CASES.values(), ids=_CASES)
def test_a_resource_path(method: str, path: str, parts: tuple[str, ...]) -> None:
    group, version, resource, namespace, name, subresource, verb = parts
    assert parse(method, path) == RequestInfo(group, version, resource, namespace, name, subresource, (), verb)


def test_what_lies_behind_a_proxy_is_kept() -> None:
    info = parse("GET", "/api/v1/namespaces/a/services/s/proxy/x/y")
    assert info is not None
    assert (info.subresource, info.rest) == ("proxy", ("x", "y"))


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/openapi/v3"]
)
def test_other_paths_are_no_resource_requests(path: str) -> None:
    assert parse("GET", path) is None
