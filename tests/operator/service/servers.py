"""The embedded server with controllers that keep the endpoints of services."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

from tests.contract.target import NotReadyError, embedded_server, ended
from tests.kube.real import build
from tests.operator.stage import PATIENCE


@contextlib.contextmanager
def embedded() -> Generator[Path]:
    """The kubeconfig of a fresh one."""
    with embedded_and_controllers() as (kubeconfig, _):
        yield kubeconfig


@contextlib.contextmanager
def embedded_and_controllers() -> Generator[tuple[Path, subprocess.Popen[bytes]]]:
    """The kubeconfig of a fresh one, and the process of its controllers."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rayward-service-")))
        stack.enter_context(embedded_server(folder))
        kubeconfig = folder / "kubeconfig"
        log = stack.enter_context((folder / "controllers.log").open("wb"))
        command = [sys.executable, "-m", "rayward.local.controllers", "--kubeconfig", str(kubeconfig), "--without=jobs"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(ended, process)
        yield kubeconfig, process
        if process.poll() is not None:
            raise NotReadyError(f"the controllers ended: {(folder / 'controllers.log').read_text()[-2000:]}")


@contextlib.contextmanager
def embedded_with_stock_definitions() -> Generator[Path]:
    """The same with KubeRay's own definitions, which drop the fields that only ours have."""
    binaries = build.build()
    with embedded() as kubeconfig:
        kubectl = [str(binaries / "kubectl"), "--kubeconfig", str(kubeconfig)]
        files = [f"--filename={path}" for path in sorted((binaries / "kuberay-crds").glob("*.yaml"))]
        subprocess.run([*kubectl, "apply", "--server-side", *files], check=True, timeout=PATIENCE, capture_output=True)
        established = ["wait", "--for=condition=Established", "--timeout=120s", *files]
        subprocess.run([*kubectl, *established], check=True, timeout=PATIENCE, capture_output=True)
        yield kubeconfig
