"""The servers that sessions run on: both with the controllers that delete what lost its owner or namespace."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

from tests.contract.target import NotReadyError, embedded_server, ended
from tests.identity import own_kubeconfig
from tests.kube.real import build
from tests.kube.real.cluster import RealControlPlane

# What Deployments and Jobs become has recordings of its own.
_CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "resourcequota-controller",
)


def kubectl() -> Path:
    """The kubectl binary of the tests."""
    return build.build() / "kubectl"


@contextlib.contextmanager
def real() -> Generator[Path]:
    """The kubeconfig of a fresh real control plane."""
    only = [f"--controllers={','.join(_CONTROLLERS)}"]
    with RealControlPlane(controller_manager=True, controller_manager_args=only) as plane:
        yield plane.kubeconfig


@contextlib.contextmanager
def embedded() -> Generator[Path]:
    """The kubeconfig of a fresh embedded server, with its controllers."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rayward-kubectl-")))
        stack.enter_context(embedded_server(folder))
        kubeconfig = folder / "kubeconfig"
        log = stack.enter_context((folder / "controllers.log").open("wb"))
        own = own_kubeconfig(kubeconfig, "controllers")
        command = [sys.executable, "-m", "rayward.local.controllers", "--kubeconfig", str(own)]
        # What they make comes at its own time, and the sessions do not wait for it.
        command += ["--without=endpoints", "--without=jobs", "--without=workloads"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(ended, process)
        yield kubeconfig
        if process.poll() is not None:
            raise NotReadyError(f"the controllers ended: {(folder / 'controllers.log').read_text()[-2000:]}")
