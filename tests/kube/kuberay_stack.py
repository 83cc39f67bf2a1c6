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
def kuberay_stack(folder: Path) -> Generator[RayStack]:
    """A stack with no operator of ours, and KubeRay's on it, which must live as long."""
    binaries = build.build()
    with RayStack(folder / "stack", "--operator", "none") as stack:
        kubeconfig = f"--kubeconfig={stack.folder / 'kubeconfig'}"
        crds = ["apply", "--server-side", "-f", str(binaries / "kuberay-crds")]
        subprocess.run([str(binaries / "kubectl"), kubeconfig, *crds], check=True, timeout=120, capture_output=True)
        command = [str(binaries / "kuberay-operator"), kubeconfig, "--use-kubernetes-proxy"]
        command += ["--leader-election-namespace=default", "--metrics-addr=0", "--health-probe-bind-address=0"]
        with beside(command, folder / "operator.log"):
            yield stack
