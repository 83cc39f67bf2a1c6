from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.context import context_access
from rayward.kube.client.credentials import ConfigError, Credential, FileCredentials
from rayward.kube.client.execplugin import ExecCredentials
from rayward.kube.client.kubeconfig import Kubeconfig
from rayward.net.tls import ClientTls


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def access(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: Any) -> Access:
    config = Kubeconfig(
        clusters={"c": {"server": "https://api:6443/", **(cluster or {})}},
        users={"u": user or {}},
        contexts={"x": {"cluster": "c", "user": "u", **context}},
        current_context="x",
    )
    return context_access(config, environ={})


def test_a_context_joins_a_cluster_and_a_user() -> None:
    found = access({"tls-server-name": "k"}, {"token": "t"}, namespace="team")
    assert (found.server, found.namespace, found.proxy) == ("https://api:6443", "team", None)
    assert found.tls == ClientTls(server_name="k")
    assert found.credentials.fresh() == Credential("t")


def test_without_a_namespace_it_is_default() -> None:
    assert access().namespace == "default"


def test_a_context_may_be_named() -> None:
    config = Kubeconfig(
        clusters={"a": {"server": "https://a"}, "b": {"server": "https://b"}},
        contexts={"x": {"cluster": "a"}, "y": {"cluster": "b"}},
        current_context="x",
    )
    assert context_access(config, environ={}).server == "https://a"
    assert context_access(config, "y", environ={}).server == "https://b"


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (Kubeconfig(), "no context is current"),
        (Kubeconfig(contexts={"y": {}}, current_context="x"), r"context 'x' does not exist \(there are: y\)"),
        (
            Kubeconfig(contexts={"x": {"cluster": "c"}}, current_context="x"),
            "cluster 'c' was not found for context 'x'",
        ),
        (
            Kubeconfig(
                clusters={"c": {"server": "https://a"}},
                contexts={"x": {"cluster": "c", "user": "u"}},
                current_context="x",
            ),
            "user 'u' was not found for context 'x'",
        ),
    ],
    ids=["no current", "no context", "no cluster", "no user"],
)
def test_what_a_context_names_must_exist(config: Kubeconfig, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        context_access(config, environ={})


class TestCluster:
    def test_the_authority_comes_as_data_or_in_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "ca"
        file.write_text("FILE")
        assert access({"certificate-authority": str(file)}).tls.authority == "FILE"
        both = {"certificate-authority": str(file), "certificate-authority-data": encoded("DATA")}
        assert access(both).tls.authority == "DATA", "data win"

    def test_verification_may_be_switched_off(self) -> None:
        assert not access({"insecure-skip-tls-verify": True}).tls.verify
        assert access({"insecure-skip-tls-verify": "true"}).tls.verify, "but not by a word"

    def test_the_stated_proxy_comes_before_the_environment(self) -> None:
        config = Kubeconfig(
            clusters={"c": {"server": "https://a", "proxy-url": "http://stated"}, "d": {"server": "https://a"}},
            contexts={"x": {"cluster": "c"}, "y": {"cluster": "d"}},
        )
        environ = {"HTTPS_PROXY": "http://environ"}
        assert context_access(config, "x", environ).proxy == "http://stated"
        assert context_access(config, "y", environ).proxy == "http://environ"

    @pytest.mark.parametrize(
        ("cluster", "problem"),
        [
            ({"server": ""}, "is no http:// or https:// address"),
            ({"server": "api:6443"}, "is no http:// or https:// address"),
            ({"proxy-url": "socks5://p"}, "only http:// and https:// proxies"),
            ({"certificate-authority-data": "?"}, "certificate-authority-data is not base64"),
            ({"certificate-authority": "/no/such/file"}, "cannot read certificate-authority of cluster 'c'"),
            (
                {"insecure-skip-tls-verify": True, "certificate-authority-data": encoded("A")},
                "exclude each other",
            ),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_what_is_refused(self, cluster: dict[str, Any], problem: str) -> None:
        with pytest.raises(ConfigError, match=problem):
            access(cluster)


class TestUser:
    def test_a_certificate_as_data(self) -> None:
        user = {"client-certificate-data": encoded("C"), "client-key-data": encoded("K")}
        assert access(user=user).credentials.fresh() == Credential(None, "C", "K")

    def test_files_are_followed(self, tmp_path: Path) -> None:
        for name in ("crt", "key", "token"):
            (tmp_path / name).write_text(name)
        user = {
            "client-certificate": str(tmp_path / "crt"),
            "client-key": str(tmp_path / "key"),
            "tokenFile": str(tmp_path / "token"),
            "token": "older",
        }
        credentials = access(user=user).credentials
        assert isinstance(credentials, FileCredentials)
        assert credentials.load() == Credential("token", "crt", "key")

    def test_a_plugin(self) -> None:
        user = {"exec": {"command": "p", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}}
        assert isinstance(access(user=user).credentials, ExecCredentials)

    def test_a_token_comes_before_a_plugin(self) -> None:
        assert access(user={"token": "t", "exec": {"command": "p"}}).credentials.fresh() == Credential("t")

    def test_credentials_are_never_sent_in_the_clear(self) -> None:
        assert access({"server": "http://api"}, {"token": "t"}).credentials.fresh() == Credential()

    def test_acting_as_another(self) -> None:
        user = {
            "as": "bob",
            "as-uid": "7",
            "as-groups": ["a", "b"],
            "as-user-extra": {"Scopes": ["x", "y"], "example.com/z": ["1"]},
        }
        assert access(user=user).headers == (
            ("Impersonate-User", "bob"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Extra-Scopes", "x"),
            ("Impersonate-Extra-Scopes", "y"),
            ("Impersonate-Extra-example.com%2Fz", "1"),
        )
        assert access(user={"as-groups": ["a"]}).headers == ()

    @pytest.mark.parametrize(
        ("user", "problem"),
        [
            ({"username": "a", "password": "b"}, "user name and password are not supported"),
            ({"auth-provider": {"name": "gcp"}}, "auth-provider was removed"),
            ({"client-certificate-data": encoded("C")}, "client-key-data or client-key must be specified"),
            ({"client-certificate-data": "?"}, "client-certificate-data is not base64"),
            ({"exec": {"args": []}}, "exec has no command"),
            ({"exec": "p"}, "exec has no command"),
            (
                {"exec": {"command": "p", "apiVersion": "client.authentication.k8s.io/v1"}},
                "interactiveMode must be specified for u to use exec authentication plugin",
            ),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_what_is_refused(self, user: dict[str, Any], problem: str) -> None:
        with pytest.raises(ConfigError, match=problem):
            access(user=user)


def test_a_plugin_may_be_told_of_the_cluster(tmp_path: Path) -> None:
    script = tmp_path / "plugin"
    script.write_text(
        "#!/bin/sh\n"
        """printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",'\n"""
        """printf '"status":{"token":"%s"}}' "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 -w0)"\n"""
    )
    script.chmod(0o755)
    (tmp_path / "ca").write_text("CA")
    cluster = {
        "certificate-authority": str(tmp_path / "ca"),
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}, {"name": "y"}],
    }
    user = {
        "exec": {
            "command": str(script),
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "provideClusterInfo": True,
        }
    }
    token = access(cluster, user).credentials.load().token
    told = json.loads(b64decode(token or ""))
    assert told["spec"]["cluster"] == {
        "server": "https://api:6443/",
        "certificate-authority-data": encoded("CA"),
        "config": {"audience": "x"},
    }
