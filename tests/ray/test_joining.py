"""A worker's script of joining asks the program that Ray ships."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.kinds.shapes.joining import run, shell, wait_script

__all__ = ["shell"]
pytestmark = pytest.mark.ray


_TOKEN: Final = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 32}


def _tls(folder: Path) -> dict[str, str]:
    """What Ray's documentation makes: one pair for both ends of every connection."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=ray"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    names = {"SERVER_CERT": certificate, "SERVER_KEY": key, "CA_CERT": certificate}
    return {"RAY_USE_TLS": "1", **{f"RAY_TLS_{name}": str(path) for name, path in names.items()}}


@pytest.mark.parametrize("secured", ["open", "token", "tls"])
def test_a_real_gcs_says_that_it_serves(shell: Path, secured: str) -> None:
    tls = _tls(shell) if secured == "tls" else {}
    auth = _TOKEN if secured == "token" else tls
    (package,) = importlib.util.find_spec("ray").submodule_search_locations  # pyright: ignore[reportOptionalMemberAccess, reportGeneralTypeIssues, reportOptionalIterable]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [f"{package}/core/src/ray/gcs/gcs_server", f"--gcs_server_port={port}", "--node-ip-address=127.0.0.1"]
    command += [f"--log_dir={shell}", "--session-name=t", "--config_list=e30="]
    with subprocess.Popen(
        command, env={**os.environ, **auth}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as gcs:
        try:
            done = run(wait_script(port), shell, **tls)
        finally:
            gcs.terminate()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The head answers after ")
