"""Kueue's own manager, as it is shipped: on a real server, and on ours; once for all suites of a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rayward.kinds import crds
from tests.kube import kueue
from tests.kube.kueue import Kueue
from tests.kube.real import build
from tests.operator.service import servers
from tests.operator.service.conftest import CONTROLLERS


@pytest.fixture(scope="package")
def kueue_on_real() -> Iterator[tuple[Path, Kueue]]:
    """One control plane and one manager for all cases; each has a namespace and queues of its own."""
    if missing := kueue.missing():
        pytest.skip(missing)
    with kueue.on_real_server(CONTROLLERS, crds.manifests()) as (kubeconfig, manager):
        yield kubeconfig, manager


@pytest.fixture(scope="package")
def kueue_kubeconfig(kueue_on_real: tuple[Path, Kueue]) -> Path:
    return kueue_on_real[0]


@pytest.fixture(scope="package")
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
