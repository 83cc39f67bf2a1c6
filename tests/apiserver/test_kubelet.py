"""Which container of a pod is meant."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.kubelet import Target, container_of, refused
from rayward.local.apiserver.status import ApiError


def _pod(*names: str, default: str = "", inits: tuple[str, ...] = ()) -> dict[str, Any]:
    annotations = {"kubectl.kubernetes.io/default-container": default} if default else {}
    spec = {"containers": [{"name": n} for n in names], "initContainers": [{"name": n} for n in inits]}
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "asked", "meant"),
    [
        (_pod("a"), "", "a"),
        (_pod("a", "b"), "b", "b"),
        (_pod("a", "b", default="b"), "", "b"),
        (_pod("a", inits=("i",)), "", "a"),
        (_pod("a", inits=("i",)), "i", "i"),
    ],
    ids=["the only one", "the named one", "the default one", "inits do not count", "but can be named"],
)
def test_the_container_that_is_meant(pod: dict[str, Any], asked: str, meant: str) -> None:
    assert container_of(pod, asked) == meant


@pytest.mark.parametrize(
    ("pod", "asked", "message"),
    [
        (_pod("a", "b"), "", "a container name must be specified for pod p, choose one of: [a b]"),
        (_pod("a"), "x", "container x is not valid for pod p"),
    ],
)
def test_a_container_that_cannot_be_told(pod: dict[str, Any], asked: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        container_of(pod, asked)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_names_are_safe_in_the_kubelets_path() -> None:
    assert Target("h:1", "a/b", "p?", "c").path("exec") == "https://h:1/exec/a%2Fb/p%3F/c"


@pytest.mark.parametrize(("code", "seen"), [(404, 404), (400, 400), (500, 503), (502, 503)])
def test_a_kubelets_failure_is_not_ours(code: int, seen: int) -> None:
    error = refused(code, b"no such thing\n")
    assert (error.code, error.message) == (seen, "no such thing")
