"""The controllers on the embedded server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.local.controllers import Published
from tests.controllers.scenarios import ENDPOINT_SLICES, SERVICES, Scenarios, running, until


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "rayward.local.apiserver", "--data-dir", str(folder)]
    with (folder.with_suffix(".log")).open("wb") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            while not (folder / "kubeconfig").exists():
                assert server.poll() is None, folder.with_suffix(".log").read_text()
                time.sleep(0.02)
            yield folder / "kubeconfig"
        finally:
            server.terminate()


class TestOurServer(Scenarios):
    published = Published("10.43.0.1", "192.0.2.1", 6443)

    async def test_the_service_of_the_server_follows_it(self, kubeconfig: Path) -> None:
        for port in (6443, 7443):
            published = Published("10.43.0.1", "192.0.2.1", port)
            async with running(kubeconfig, published=published) as client:

                async def leads_there(port: int = port) -> bool:
                    slices = (await client.list(ENDPOINT_SLICES, "default")).items
                    services = (await client.list(SERVICES, "default")).items
                    return [s["ports"][0]["port"] for s in slices] == [port] and [
                        s["spec"]["ports"][0]["targetPort"] for s in services
                    ] == [port]

                await until(leads_there)
