"""The servers of the service's tests, and who admits on them: the embedded engine, or Kueue's own manager."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from tests.operator.conftest import buried
from tests.operator.service.conftest import embedded_kubeconfig, real_kubeconfig
from tests.quota.gate.stage import ON_ALL, GateStage, KueueStage, KueueWithDefaultStage

_STAGES = {"kueue": KueueStage, "kueue_here": KueueStage, "kueue_default": KueueWithDefaultStage}
_SERVERS = {"kueue_default": "kueue"}
__all__ = ["buried", "embedded_kubeconfig", "real_kubeconfig"]


@pytest.fixture(params=ON_ALL)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def access(engine: str, request: pytest.FixtureRequest) -> Access:
    return find_access(request.getfixturevalue(f"{_SERVERS.get(engine, engine)}_kubeconfig"))


@pytest.fixture
async def ray(engine: str, access: Access) -> AsyncGenerator[GateStage]:
    async with _STAGES.get(engine, GateStage).on(access) as made:
        yield made
