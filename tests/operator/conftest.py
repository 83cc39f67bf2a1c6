"""The two servers that the operator's tests run on, for one folder each: a real one takes a gigabyte while it lives."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from tests.contract.kubectl import targets
from tests.operator.stage import Stage


@pytest.fixture
def buried() -> Iterator[None]:
    """An operator that dies leaves its sockets to the collector: here, and not in somebody else's test."""
    yield
    gc.collect()


@pytest.fixture(scope="package")
def embedded_kubeconfig() -> Iterator[Path]:
    with targets.embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="package")
def real_kubeconfig() -> Iterator[Path]:
    with targets.real() as kubeconfig:
        yield kubeconfig


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kube)])
def access(request: pytest.FixtureRequest) -> Access:
    return find_access(request.getfixturevalue(f"{request.param}_kubeconfig"))


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[Stage]:
    async with Stage.on(access) as made:
        yield made
