from __future__ import annotations

import os
from pathlib import Path

import pytest

from rayward.kube.client.credentials import ConfigError, Credential
from rayward.kube.client.incluster import in_cluster, in_cluster_access

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"token": "t1\n", "ca.crt": "CA", "namespace": "team\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_service_account_of_a_pod(folder: Path) -> None:
    assert in_cluster(ENVIRON, folder)
    access = in_cluster_access(ENVIRON, folder)
    assert (access.server, access.namespace, access.tls.authority) == ("https://10.0.0.1:443", "team", "CA")
    assert access.credentials.fresh() == Credential("t1")


def test_a_rotated_token_is_read_again(folder: Path) -> None:
    credentials = in_cluster_access(ENVIRON, folder).credentials
    (folder / "token").write_text("t2")
    os.utime(folder / "token", ns=(1, 1))
    assert credentials.fresh() is None
    assert credentials.load() == Credential("t2")


def test_an_address_of_version_6(folder: Path) -> None:
    environ = {**ENVIRON, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster_access(environ, folder).server == "https://[fd00::1]:443"


def test_namespace_and_authority_may_be_missing(folder: Path) -> None:
    (folder / "namespace").unlink()
    (folder / "ca.crt").unlink()
    access = in_cluster_access(ENVIRON, folder)
    assert (access.namespace, access.tls.authority) == ("default", None)


def test_outside_of_a_pod(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert not in_cluster({}, folder)
    with pytest.raises(ConfigError, match="not inside a pod"):
        in_cluster_access({}, folder)
    nowhere = tmp_path_factory.mktemp("empty")
    assert not in_cluster(ENVIRON, nowhere)
    with pytest.raises(ConfigError, match="cannot read"):
        in_cluster_access(ENVIRON, nowhere)
