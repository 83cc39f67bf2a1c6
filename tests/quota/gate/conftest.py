"""The servers of the service's tests: endpoints are kept, garbage is collected."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from rayward.kube.client.access import Access
from tests.operator.conftest import access, buried
from tests.operator.service.conftest import embedded_kubeconfig, real_kubeconfig
from tests.quota.gate.stage import GateStage

__all__ = ["access", "buried", "embedded_kubeconfig", "real_kubeconfig"]


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[GateStage]:
    async with GateStage.on(access) as made:
        yield made
