"""The two servers that the operator's tests run on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from tests.contract.kubectl import targets
from tests.operator.stage import Stage, embedded_access, stage


@pytest.fixture(scope="session")
def real_kubeconfig() -> Iterator[Path]:
    with targets.real() as kubeconfig:
        yield kubeconfig


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kube)])
async def access(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Access]:
    async with AsyncExitStack() as stack:
        if request.param == "real":
            yield find_access(request.getfixturevalue("real_kubeconfig"))
        else:
            yield await stack.enter_async_context(embedded_access(tmp_path))


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[Stage]:
    async with stage(access) as made:
        yield made
