"""The controllers on a real kube-apiserver that has no controller manager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controllers.scenarios import Scenarios
from tests.kube.real.cluster import RealControlPlane

pytestmark = pytest.mark.kube


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with RealControlPlane() as plane:
        yield plane.kubeconfig


class TestRealServer(Scenarios):
    pass
