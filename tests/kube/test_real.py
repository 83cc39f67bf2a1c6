"""The real components start alone on loopback and leave nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kube.real import build
from tests.kube.real.cluster import RealControlPlane

pytestmark = pytest.mark.kube

_HOLDER = """
import json, sys
from tests.kube.real.cluster import RealControlPlane
with RealControlPlane() as plane:
    print(json.dumps([str(plane.folder), *plane.pids.values()]), flush=True)
    sys.stdin.read()
"""


def _gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_kubectl_reaches_the_server_and_everything_ends_with_the_block() -> None:
    with RealControlPlane() as plane:
        pids = list(plane.pids.values())
        version = json.loads(plane.run_kubectl("version", "--output=json").stdout)
        assert version["serverVersion"]["gitVersion"] == build.KUBERNETES_VERSION
        assert version["clientVersion"]["gitVersion"] == build.KUBERNETES_VERSION
    assert _gone(pids)
    assert not plane.folder.exists()


def test_a_pod_is_accepted_as_soon_as_the_controllers_are_ready() -> None:
    with RealControlPlane(controller_manager=True) as plane:
        done = plane.run_kubectl("run", "first", "--image=busybox")
        assert done.returncode == 0, done.stderr


def test_neither_components_nor_files_outlive_a_killed_test_process() -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout
    folder, *pids = json.loads(holder.stdout.readline())
    assert len(pids) == 2
    holder.kill()
    holder.communicate()
    deadline = time.monotonic() + 30
    while (Path(folder).exists() or not _gone(pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _gone(pids)
    assert not Path(folder).exists()
