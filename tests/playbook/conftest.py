"""The operator's servers with simulated Ray, and the whole process of the operator: recorders beside its own kinds."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from rayward import AsyncClient
from rayward.kinds.admission import NO_QUEUES
from rayward.kube.client.access import Access
from rayward.stack.composition import composed
from tests.operator.conftest import access
from tests.operator.service.conftest import embedded_kubeconfig, real_kubeconfig
from tests.operator.service.stage import ServiceStage

__all__ = ["access", "embedded_kubeconfig", "real_kubeconfig"]


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[ServiceStage]:
    async with ServiceStage.on(access) as made:
        made.compose = composed(NO_QUEUES)
        yield made


@pytest.fixture
def sdk(ray: ServiceStage) -> AsyncClient:
    return AsyncClient(ray.client, namespace=ray.namespace, user="ada")
