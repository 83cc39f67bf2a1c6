"""The embedded server, as a process of its own on a folder of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from tests.contract.server import Server

_PATIENCE = 180.0


class NotReadyError(Exception):
    """The server ended, or wrote no kubeconfig in time."""


@contextlib.contextmanager
def embedded_server(data_dir: Path | None = None) -> Generator[Server]:
    """`python -m rayward.local.apiserver`, without controllers, until the block ends."""
    with contextlib.ExitStack() as stack:
        folder = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rayward-contract-")))
        log = stack.enter_context((folder / "server.log").open("wb+"))
        command = [sys.executable, "-m", "rayward.local.apiserver", "--data-dir", str(folder)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(ended, process)
        yield Server.from_kubeconfig(_kubeconfig(folder, process))


def _kubeconfig(folder: Path, process: subprocess.Popen[bytes]) -> Path:
    path = folder / "kubeconfig"
    deadline = time.monotonic() + _PATIENCE
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            tail = (folder / "server.log").read_text(errors="replace")[-4000:]
            raise NotReadyError(f"the embedded server is not ready (exit code {process.poll()}):\n{tail}")
        time.sleep(0.02)
    return path


def ended(process: subprocess.Popen[bytes]) -> None:
    """Ends a process: asked first, then made to."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
