"""The two servers of the operator's tests, with the garbage collector that takes a job's cluster with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from rayward.kube.client.access import Access
from rayward.operator.job import cleanup, observe, state
from tests.operator.job.stage import JobStage
from tests.operator.service.conftest import embedded_kubeconfig, real_kubeconfig

__all__ = ["embedded_kubeconfig", "real_kubeconfig"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that waits long for logs and last words: on a busy machine half a minute is soon over."""
    for module in (state, observe, cleanup):
        monkeypatch.setattr(module, "PATIENCE", timedelta(minutes=30))


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[JobStage]:
    async with JobStage.on(access) as made:
        yield made
