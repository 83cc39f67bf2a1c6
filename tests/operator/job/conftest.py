"""The two servers of the operator's tests, with the garbage collector that takes a job's cluster with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from rayward.kube.client.access import Access
from tests.operator.job.stage import JobStage
from tests.operator.service.conftest import embedded_kubeconfig, real_kubeconfig

__all__ = ["embedded_kubeconfig", "real_kubeconfig"]


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[JobStage]:
    async with JobStage.on(access) as made:
        yield made
