"""A manager cluster and two worker clusters: three API servers, a namespace of one name on each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from tests.contract.kubectl import targets
from tests.operator.conftest import buried
from tests.operator.service.servers import embedded
from tests.quota.multicluster.stage import MulticlusterStage

__all__ = ["buried"]


@pytest.fixture(scope="session")
def east() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="session")
def west() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="session")
def embedded_manager() -> Iterator[Path]:
    with targets.embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="session")
def real_manager() -> Iterator[Path]:
    with targets.real() as kubeconfig:
        yield kubeconfig


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kube)])
def manager(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(f"{request.param}_manager")


@pytest.fixture
async def clusters(manager: Path, east: Path, west: Path, tmp_path: Path) -> AsyncGenerator[MulticlusterStage]:
    async with MulticlusterStage.on(manager, {"east": east, "west": west}, tmp_path) as made:
        yield made
