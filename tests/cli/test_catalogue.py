"""Kinds by the names that users know them by."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.cli.catalogue import Catalogue, kinds_in
from rayward.cli.failure import CommandError
from rayward.cli.naming import parse
from rayward.net.errors import ProtocolError


def _entry(plural: str, kind: str, *short: str, **more: Any) -> dict[str, Any]:
    names = {"resource": plural, "singularResource": kind.lower(), "shortNames": list(short)}
    return {**names, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list"], **more}


_DOCUMENT = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {},
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        _entry("pods", "Pod", "po", categories=["all"]),
                        _entry("services", "Service", "svc", categories=["all"]),
                        _entry("events", "Event", "ev"),
                    ],
                }
            ],
        },
        {
            "metadata": {"name": "events.k8s.io"},
            "versions": [{"version": "v1", "resources": [_entry("events", "Event", "ev")]}],
        },
        {
            "metadata": {"name": "ray.io"},
            "versions": [
                {"version": "v1", "resources": [_entry("rayclusters", "RayCluster")]},
                {"version": "v1alpha1", "resources": [_entry("rayclusters", "RayCluster")]},
            ],
        },
    ],
}
_ALL = Catalogue(kinds_in(_DOCUMENT))


@pytest.mark.parametrize(
    ("word", "resource"),
    [
        ("po", "pods"),
        ("Pod", "pods"),
        ("ev", "events"),
        ("events.events.k8s.io", "events.events.k8s.io"),
        ("raycluster", "rayclusters.ray.io"),
        ("rayclusters.ray.io", "rayclusters.ray.io"),
        ("rayclusters.v1alpha1.ray.io", "rayclusters.ray.io"),
    ],
)
def test_one_kind_has_many_names(word: str, resource: str) -> None:
    assert str(_ALL.find(word).resource) == resource


def test_the_preferred_version_unless_named() -> None:
    assert _ALL.find("raycluster").resource.version == "v1"
    assert _ALL.find("raycluster.v1alpha1.ray.io").resource.version == "v1alpha1"


def test_a_word_for_several_kinds() -> None:
    assert [kind.resource.kind for kind in _ALL.all_of("all")] == ["Pod", "Service"]


@pytest.mark.parametrize("word", ["podss.v1", "rayclusters.v2.ray.io", "x"])
def test_a_kind_that_is_not_there(word: str) -> None:
    with pytest.raises(CommandError, match="doesn't have a resource type") as caught:
        _ALL.find(word)
    assert caught.value.code == 4


def test_an_old_server_is_not_taken_for_an_empty_one() -> None:
    with pytest.raises(ProtocolError):
        kinds_in({"kind": "APIGroupList"})


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["po", "a", "b"], [("Pod", ("a", "b"))]),
        (["po,svc"], [("Pod", ()), ("Service", ())]),
        (["po/a", "svc/b"], [("Pod", ("a",)), ("Service", ("b",))]),
    ],
    ids=["names", "kinds", "slashes"],
)
def test_objects_as_they_are_named(words: list[str], meant: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(one.kind.resource.kind, one.names) for one in parse(words, _ALL, verb="get")] == meant


@pytest.mark.parametrize("words", [[], ["po/"], ["/a"], ["po/a/b"], ["po/a", "b"]])
def test_objects_that_nobody_can_mean(words: list[str]) -> None:
    with pytest.raises(CommandError) as caught:
        parse(words, _ALL, verb="get")
    assert caught.value.code == 2
