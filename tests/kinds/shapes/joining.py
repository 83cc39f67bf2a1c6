"""The scripts of joining and leaving, run in a real shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, template


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A folder with a ``ray`` that notes how it is called and fails the first time."""
    command = tmp_path / "ray"
    command.write_text(
        f'#!/bin/bash\necho "$@" >> {tmp_path}/calls\n[ $(wc -l < {tmp_path}/calls) -ge ${{RAY_FROM:-2}} ]\n'
    )
    command.chmod(0o755)
    return tmp_path


def run(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    search = f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/bash", "-c", script],
        env={"PATH": search, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def wait_container(container: Object | None = None) -> Object:
    made = cluster(groups=[{"template": template(container)}])
    containers = shapes.worker_pod(made, made.groups[0], "w")["spec"]["initContainers"]
    return next(found for found in containers if found["name"] == "wait-gcs-ready")


def wait_script(port: int) -> str:
    made: str = wait_container()["args"][0].replace("demo-head-svc.lab.svc.cluster.local", "127.0.0.1")
    return made.replace("6379", str(port)).replace("settimeout(5)", "settimeout(1)")
