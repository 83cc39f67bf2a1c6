"""The embedded server with controllers that keep the endpoints of services."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

from tests.contract.target import NotReadyError, embedded_server, ended


@contextlib.contextmanager
def embedded() -> Generator[Path]:
    """The kubeconfig of a fresh one."""
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
