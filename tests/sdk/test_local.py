"""A server of one's own: ``Client.local()``, and the fixtures that Rayward brings for pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rayward import Client
from rayward.changes.outcomes import NotFound
from rayward.pytest_plugin import rayward_client, rayward_server
from rayward.sdk import local
from rayward.sdk.local import LocalServer
from rayward.stack import control, settings
from rayward.stack.folder import Folder
from rayward.stack.settings import Settings
from tests.kinds.clusters import changed, manifest, service_manifest

__all__ = ["rayward_client", "rayward_server"]

_SETTLED = "spec.rayClusterConfig.rayVersion"


def test_a_test_has_a_namespace_of_its_own(rayward_client: Client) -> None:
    assert rayward_client.apply(service_manifest()).before is None
    plan = rayward_client.plan(changed(service_manifest(), _SETTLED, "2.61.0"))
    assert plan.strongest == "NewCluster"


def test_another_test_sees_nothing_of_it(rayward_client: Client, rayward_server: LocalServer) -> None:
    with pytest.raises(NotFound):
        rayward_client.get("rayservice/s")
    assert rayward_server.access.server.startswith("https://127.0.0.1")


def test_a_local_server_ends_with_its_client() -> None:
    with Client.local() as client:
        assert client.apply(manifest()).changed
        server = client._server  # pyright: ignore[reportPrivateUsage]
        assert server is not None
        assert server.folder.root.exists()
    assert not server.folder.kubeconfig.exists()


def test_a_server_with_pods_is_as_it_was_the_last_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path)
    before = Settings(("--nodes", "3", "--gpus", "2", "--images", "strict"), operator=True)
    settings.write(folder.settings, before)
    made: list[Settings] = []
    monkeypatch.setattr(control, "up", lambda _folder, node, operator, tell: made.append(Settings(node, operator)))
    monkeypatch.setattr(local, "find_access", lambda _kubeconfig: None)
    for pods in (True, False):
        local.start(tmp_path, pods=pods)
    assert made == [before, Settings(operator=True)]


def test_the_plugin_loads_nothing_before_it_is_asked(tmp_path: Path) -> None:
    script = "import sys, rayward.pytest_plugin; print('msgspec' in sys.modules, 'rayward.sdk' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["False", "False"]
