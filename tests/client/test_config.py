from __future__ import annotations

from pathlib import Path

import pytest

from rayward.kube.client.config import find_access
from rayward.kube.client.credentials import ConfigError

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def kubeconfig(file: Path, server: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
    )
    return file


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    (folder / "token").write_text("t")
    return folder


def test_who_is_asked_first(tmp_path: Path, account: Path) -> None:
    def server(file: Path | None = None, **environ: str) -> str:
        return find_access(file, environ={**POD, **environ}, home=tmp_path, account_folder=account).server

    assert server() == "https://10.0.0.1:443", "nothing else is there"
    kubeconfig(tmp_path / ".kube" / "config", "https://home")
    assert server() == "https://home"
    listed = kubeconfig(tmp_path / "listed", "https://listed")
    assert server(KUBECONFIG=str(listed)) == "https://listed"
    named = kubeconfig(tmp_path / "named", "https://named")
    assert server(named, KUBECONFIG=str(listed)) == "https://named"


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        find_access(tmp_path / "no", environ={})


def test_nothing_is_configured(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"looked for .*/\.kube/config and for a service account; set KUBECONFIG"):
        find_access(environ={}, home=tmp_path, account_folder=tmp_path)
