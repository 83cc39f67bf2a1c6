"""A node that is told to end, ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rayward.local.node.capabilities import missing_in_child
from tests.node.machine import sandbox_processes
from tests.waiting import eventually

_NOBODY_LISTENS = "https://127.0.0.1:1"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_node_ends_though_its_api_server_is_away(tmp_path: Path, number: signal.Signals) -> None:
    if refused := missing_in_child():
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": _NOBODY_LISTENS}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    kubeconfig, log = tmp_path / "kubeconfig", tmp_path / "log"
    kubeconfig.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "rayward.local.node", "--kubeconfig", str(kubeconfig)]
    with log.open("wb") as output:
        node = subprocess.Popen([*command, "--data-dir", str(tmp_path / "node")], stdout=output, stderr=output)
    try:
        eventually(lambda: "sandbox host made" in log.read_text())
        node.send_signal(number)
        assert node.wait(60) == 0, log.read_text()
    finally:
        node.kill()
        node.wait()
    eventually(lambda: not sandbox_processes(tmp_path))
