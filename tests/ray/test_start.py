"""The first ten minutes on real Ray: the commands of the page, as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.core.resource import SERVICES
from rayward.local.addresses import shell_addresses_of
from tests.docs import start
from tests.ray.stack import RayStack

pytestmark = [pytest.mark.ray, pytest.mark.soak, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayStack]:
    with RayStack(tmp_path_factory.mktemp("start") / "stack") as running:
        yield running


def test_the_first_ten_minutes(stack: RayStack, tmp_path: Path) -> None:
    commands = list(start.steps())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = tmp_path / "start.sh"
    script.write_text(start.script(command for command, _ in commands))
    done = subprocess.run(
        ["bash", script],
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, "RAYWARD_DATA_DIR": str(stack.folder), "PATH": path},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = start.read(done.stdout, commands)
    start.check(said)
    assert any("42" in text for command, text in said.items() if " run -- " in command)
    (address,) = shell_addresses_of(stack.client.get(SERVICES, "greet-serve-svc", "default"))
    with urllib.request.urlopen(f"http://{address}/", timeout=60) as answer:
        assert answer.read() == b"hello from release 1\n"
