"""The servers of the service's tests, and who admits on them: the embedded engine, or Kueue's own manager."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rayward.kinds import crds
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from tests.kube import kueue
from tests.kube.kueue import Kueue
from tests.kube.real import build
from tests.operator.conftest import buried
from tests.operator.service import servers
from tests.operator.service.conftest import CONTROLLERS, embedded_kubeconfig, real_kubeconfig
from tests.quota.gate.stage import ON_ALL, GateStage, KueueStage, KueueWithDefaultStage

_STAGES = {"kueue": KueueStage, "kueue_here": KueueStage, "kueue_default": KueueWithDefaultStage}
_SERVERS = {"kueue_default": "kueue"}
__all__ = ["buried", "embedded_kubeconfig", "real_kubeconfig"]


@pytest.fixture(scope="session")
def kueue_on_real() -> Iterator[tuple[Path, Kueue]]:
    """One control plane and one manager for all cases; each has a namespace and queues of its own."""
    if missing := kueue.missing():
        pytest.skip(missing)
    with kueue.on_real_server(CONTROLLERS, crds.manifests()) as (kubeconfig, manager):
        yield kubeconfig, manager


@pytest.fixture(scope="session")
def kueue_kubeconfig(kueue_on_real: tuple[Path, Kueue]) -> Path:
    return kueue_on_real[0]


@pytest.fixture(scope="session")
def kueue_here_kubeconfig() -> Iterator[Path]:
    if missing := kueue.missing():
        pytest.skip(missing)
    kubectl = build.build() / "kubectl"
    with ExitStack() as stack:
        kubeconfig = stack.enter_context(servers.embedded())
        run = kueue.kubectl_of(kubectl, kubeconfig)
        kueue.define(run, crds.manifests())
        stack.enter_context(kueue.running(run, kubeconfig, kubectl))
        yield kubeconfig


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
