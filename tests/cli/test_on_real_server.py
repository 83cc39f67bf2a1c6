"""The same commands on a real kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.rayward import Done, run
from tests.kube.real.cluster import RealControlPlane

pytestmark = pytest.mark.kube

_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: %s}\n"


@pytest.fixture(scope="module")
def plane() -> Iterator[RealControlPlane]:
    with RealControlPlane() as running:
        yield running


def _rayward(plane: RealControlPlane, *words: str, stdin: str = "") -> Done:
    return run(*words, "--kubeconfig", str(plane.kubeconfig), stdin=stdin)


def test_an_object_from_its_making_to_its_end(plane: RealControlPlane) -> None:
    made = _rayward(plane, "apply", "-f", "-", stdin=_MAP % "v")
    assert (made.code, made.out) == (0, "configmap/a created\n"), made.err
    assert made.err == f"→ {plane.url}\n"
    assert _rayward(plane, "apply", "-f", "-", stdin=_MAP % "v").out == "configmap/a unchanged\n"
    assert _rayward(plane, "apply", "-f", "-", stdin=_MAP % "w").out == "configmap/a configured\n"
    assert _rayward(plane, "get", "cm", "a").out.splitlines()[1].split()[:2] == ["a", "1"]
    assert "SHELL-ADDRESS" not in _rayward(plane, "get", "services").out
    assert "Data:\n  k: w\n" in _rayward(plane, "describe", "cm", "a").out
    assert _rayward(plane, "delete", "cm", "a").out == 'configmap "a" deleted from default namespace\n'
    assert _rayward(plane, "get", "cm", "a").code == 4


def test_mistakes_have_the_same_codes(plane: RealControlPlane) -> None:
    assert _rayward(plane, "apply", "-f", "-", stdin=(_MAP % "v") + "datas: {}\n").code == 3
    assert _rayward(plane, "get", "nixes").code == 4
