"""The two servers of the operator's tests, here with controllers that keep the endpoints of services."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Final

import pytest

from rayward.kube.client.access import Access
from tests.kube.real.cluster import RealControlPlane
from tests.operator.service.servers import embedded
from tests.operator.service.stage import ServiceStage

CONTROLLERS: Final = (
    "endpointslice-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
)


@pytest.fixture(scope="package")
def embedded_kubeconfig() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="package")
def real_kubeconfig() -> Iterator[Path]:
    only = [f"--controllers={','.join(CONTROLLERS)}"]
    with RealControlPlane(controller_manager=True, controller_manager_args=only) as plane:
        yield plane.kubeconfig


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[ServiceStage]:
    async with ServiceStage.on(access) as made:
        yield made
