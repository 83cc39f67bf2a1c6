"""The two servers of the operator's tests, here with controllers that keep the endpoints of services."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from rayward.kube.client.access import Access
from tests.contract.target import NotReadyError, embedded_server, ended
from tests.kube.real.cluster import RealControlPlane
from tests.operator.service.stage import ServiceStage, service_stage

_CONTROLLERS: Final = (
    "endpointslice-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
)


@pytest.fixture(scope="session")
def embedded_kubeconfig() -> Iterator[Path]:
    with _embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="session")
def real_kubeconfig() -> Iterator[Path]:
    only = [f"--controllers={','.join(_CONTROLLERS)}"]
    with RealControlPlane(controller_manager=True, controller_manager_args=only) as plane:
        yield plane.kubeconfig


@pytest.fixture
async def ray(access: Access) -> AsyncGenerator[ServiceStage]:
    async with service_stage(access) as made:
        yield made


@contextlib.contextmanager
def _embedded() -> Generator[Path]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rayward-service-")))
        stack.enter_context(embedded_server(folder))
        kubeconfig = folder / "kubeconfig"
        log = stack.enter_context((folder / "controllers.log").open("wb"))
        command = [sys.executable, "-m", "rayward.local.controllers", "--kubeconfig", str(kubeconfig), "--without=jobs"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(ended, process)
        yield kubeconfig
        if process.poll() is not None:
            raise NotReadyError(f"the controllers ended: {(folder / 'controllers.log').read_text()[-2000:]}")
