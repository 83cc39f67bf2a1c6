"""Which server a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.cli.failure import CommandError
from rayward.cli.target import Target
from rayward.kube.client.access import ConfigError
from tests.cli.rayward import Rayward, run

_OTHER = """
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: one, context: {cluster: c, namespace: team}}, {name: two, context: {cluster: c}}]
current-context: one
"""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "kubeconfig"
    file.write_text(_OTHER)
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


def test_what_runs_here_comes_before_what_the_environment_names(
    rayward: Rayward, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYWARD_DATA_DIR", str(rayward.folder))
    _, where, local = Target().access()
    assert (where, local) == (f"local ({rayward.folder})", True)
    assert not Target(kubeconfig=other).access()[2]
    assert Target(context="two").access()[1] == "context two, http://127.0.0.1:1"


def test_where_nothing_runs_the_environment_is_asked(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYWARD_DATA_DIR", str(other.parent / "empty"))
    access, where, local = Target().access()
    assert (access.namespace, where, local) == ("team", "http://127.0.0.1:1", False)


def test_a_folder_that_is_named_must_run(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nothing runs") as caught:
        Target(data=tmp_path).access()
    assert caught.value.following == f"rayward up --data-dir {tmp_path}"


def test_no_server_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYWARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(ConfigError):
        Target().access()
    done = run("get", "pods")
    assert done.code == 10
    assert "next: rayward up" in done.err


def test_a_server_that_does_not_answer(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayward.kube.client.sync.time.sleep", lambda _seconds: None)
    done = run("get", "pods", "--kubeconfig", str(other))
    assert done.code == 10
    assert "did not answer" in done.err
