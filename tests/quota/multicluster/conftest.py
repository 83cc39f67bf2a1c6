"""A manager cluster and two worker clusters: three API servers, a namespace of one name on each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from tests.contract.kubectl import targets
from tests.operator.conftest import buried
from tests.operator.service.servers import embedded
from tests.quota.gate.stage import GateStage, KueueStage
from tests.quota.multicluster.stage import ENGINES, MulticlusterStage

__all__ = ["buried"]


@pytest.fixture(scope="package")
def east() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="package")
def west() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="package")
def embedded_manager() -> Iterator[Path]:
    with targets.embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="package")
def real_manager() -> Iterator[Path]:
    with targets.real() as kubeconfig:
        yield kubeconfig


@pytest.fixture(params=ENGINES)
def admission(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def clusters(
    admission: str, request: pytest.FixtureRequest, west: Path, tmp_path: Path
) -> AsyncGenerator[MulticlusterStage]:
    if admission == "kueue":
        manager, east = (request.getfixturevalue(f"{name}_kubeconfig") for name in ("kueue", "kueue_here"))
    else:
        manager, east = request.getfixturevalue(f"{admission}_manager"), request.getfixturevalue("east")
    admits = KueueStage if admission == "kueue" else GateStage
    workers = {"east": (east, admits), "west": (west, GateStage)}
    async with MulticlusterStage.on(manager, workers, tmp_path, admits) as made:
        yield made
