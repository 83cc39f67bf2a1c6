"""The two servers of the comparison, each started for it and stopped after."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml
from bench.client import Server
from tests.kube.real.cluster import RealControlPlane


@contextmanager
def older(checkout: Path) -> Generator[Server]:
    """The embedded server of an older checkout, in the same environment."""
    source = (checkout / "src").resolve()
    if not (source / "rayward" / "local" / "apiserver").is_dir():
        raise SystemExit(f"{checkout} is no checkout of Rayward: there is no {source}/rayward/local/apiserver")
    # What is on PYTHONPATH goes before what is installed.
    with ours("older", {"PYTHONPATH": str(source)}) as server:
        yield server


@contextmanager
def ours(name: str = "ours", environment: Mapping[str, str] | None = None) -> Generator[Server]:
    """The embedded server, as its own process."""
    with tempfile.TemporaryDirectory(prefix="rayward-bench-") as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "rayward.local.apiserver", "--data-dir", folder]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **(environment or {})})
        kubeconfig = Path(folder) / "kubeconfig"
        try:
            while not kubeconfig.exists():
                if process.poll() is not None:
                    raise SystemExit((Path(folder) / "log").read_text())
                time.sleep(0.005)
            ready = time.perf_counter() - began
            config = yaml.safe_load(kubeconfig.read_text())
            cluster = config["clusters"][0]["cluster"]
            authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
            token = config["users"][0]["user"]["token"]
            yield Server(name, cluster["server"], token, authority, (process.pid,), ready)
        finally:
            process.terminate()
            process.wait()


@contextmanager
def theirs() -> Generator[Server]:
    """kube-apiserver and etcd, with fsync as in production."""
    began = time.perf_counter()
    with RealControlPlane(fsync=True, apiserver_args=("--disable-admission-plugins=ServiceAccount",)) as plane:
        ready = time.perf_counter() - began
        authority = Path(plane.ca_file).read_text()
        yield Server("kube-apiserver", plane.url, plane.token, authority, tuple(plane.pids.values()), ready)


def resident_megabytes(server: Server) -> float:
    """Memory of all its processes."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in server.pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
