"""Real Ray on our API server and node, with KubeRay's operator where ours would be."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.beside import beside
from tests.kube.real import build
from tests.ray.stack import RayStack


@contextmanager
def kuberay_operator(stack: RayStack, log: Path) -> Generator[None]:
    """KubeRay's operator on a stack, for the length of a block."""
    kubeconfig = f"--kubeconfig={stack.folder / 'kubeconfig'}"
    command = [str(build.build() / "kuberay-operator"), kubeconfig, "--use-kubernetes-proxy"]
    command += ["--leader-election-namespace=default", "--metrics-addr=0", "--health-probe-bind-address=0"]
    with beside(command, log):
        yield


@contextmanager
def stack_without_operator(folder: Path) -> Generator[RayStack]:
    """A stack with KubeRay's definitions, and nobody who acts on them."""
    binaries = build.build()
    with RayStack(folder / "stack", "--operator", "none") as stack:
        kubeconfig = f"--kubeconfig={stack.folder / 'kubeconfig'}"
        crds = ["apply", "--server-side", "-f", str(binaries / "kuberay-crds")]
        subprocess.run([str(binaries / "kubectl"), kubeconfig, *crds], check=True, timeout=120, capture_output=True)
        yield stack


@contextmanager
def kuberay_stack(folder: Path) -> Generator[RayStack]:
    """A stack with no operator of ours, and KubeRay's on it, which must live as long."""
    with stack_without_operator(folder) as stack, kuberay_operator(stack, folder / "operator.log"):
        yield stack
