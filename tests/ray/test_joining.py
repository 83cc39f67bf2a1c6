"""A worker's script of joining asks the program that Ray ships."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.kinds.shapes.joining import run, shell, wait_script

__all__ = ["shell"]
pytestmark = pytest.mark.ray


@pytest.mark.parametrize("auth", [{}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 32}], ids=["open", "token"])
def test_a_real_gcs_says_that_it_serves(shell: Path, auth: dict[str, str]) -> None:
    (package,) = importlib.util.find_spec("ray").submodule_search_locations  # pyright: ignore[reportOptionalMemberAccess, reportGeneralTypeIssues, reportOptionalIterable]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [f"{package}/core/src/ray/gcs/gcs_server", f"--gcs_server_port={port}", "--node-ip-address=127.0.0.1"]
    command += [f"--log_dir={shell}", "--session-name=t", "--config_list=e30="]
    with subprocess.Popen(
        command, env={**os.environ, **auth}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as gcs:
        try:
            done = run(wait_script(port), shell)
        finally:
            gcs.terminate()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The head answers after ")
