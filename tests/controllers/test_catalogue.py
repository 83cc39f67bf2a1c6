from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.core.resource import Resource
from rayward.local.controllers.catalogue import Catalogue, Served, read_groups
from rayward.net.errors import ProtocolError


def _entry(plural: str, kind: str, scope: str = "Namespaced", verbs: tuple[str, ...] = ("get",)) -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": scope,
        "singularResource": plural[:-1],
        "verbs": list(verbs),
        "subresources": [{"subresource": "status", "verbs": ["get"]}],
    }


def _group(name: str, **versions: list[dict[str, Any]]) -> dict[str, Any]:
    served = [
        {"version": version, "resources": entries, "freshness": "Current"} for version, entries in versions.items()
    ]
    return {"metadata": {"name": name} if name else {}, "versions": served}


def _document(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(groups)}


def test_another_document_is_not_taken_for_an_empty_catalogue() -> None:
    with pytest.raises(ProtocolError, match="APIGroupList"):
        read_groups({"kind": "APIGroupList", "groups": []})


def test_the_core_group_has_no_name() -> None:
    document = _document(_group("", v1=[_entry("pods", "Pod"), _entry("nodes", "Node", "Cluster")]))
    assert [served.resource for served in read_groups(document)] == [
        Resource("", "v1", "pods", "Pod"),
        Resource("", "v1", "nodes", "Node", namespaced=False),
    ]


def test_of_several_versions_the_first_that_has_a_collection_counts() -> None:
    group = _group("g", v2=[_entry("as", "A")], v1=[_entry("as", "A"), _entry("bs", "B")])
    assert [served.resource for served in read_groups(_document(group))] == [
        Resource("g", "v2", "as", "A"),
        Resource("g", "v1", "bs", "B"),
    ]


def test_a_collection_without_a_kind_is_none() -> None:
    assert read_groups(_document(_group("g", v1=[{"resource": "odd"}]))) == []


def test_what_can_be_done() -> None:
    (served,) = read_groups(_document(_group("g", v1=[_entry("as", "A", verbs=("get", "list"))])))
    assert served.can("get", "list")
    assert not served.can("list", "delete")


def test_a_kind_is_found_by_its_group() -> None:
    catalogue = Catalogue()
    pods, others = Resource("", "v1", "pods", "Pod"), Resource("g", "v1", "pods", "Pod")
    catalogue.replace([Served(pods, frozenset()), Served(others, frozenset())])
    assert catalogue.of_kind("", "Pod") == pods
    assert catalogue.of_kind("g", "Pod") == others
    assert catalogue.of_kind("g", "Job") is None
    catalogue.replace([])
    assert catalogue.of_kind("", "Pod") is None
    assert list(catalogue) == []
