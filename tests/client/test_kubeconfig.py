from __future__ import annotations

from pathlib import Path

import pytest

from rayward.kube.client.credentials import ConfigError
from rayward.kube.client.kubeconfig import Kubeconfig, kubeconfig_files, load, parse

FIRST = """
apiVersion: v1
kind: Config
clusters:
- name: shared
  cluster: {server: https://first}
users:
- name: me
  user: {token: first}
contexts:
- name: one
  context: {cluster: shared, user: me}
"""
SECOND = """
clusters:
- name: shared
  cluster: {server: https://second, tls-server-name: second}
- name: other
  cluster: {server: https://other}
users:
- name: me
  user: {tokenFile: token}
contexts:
- name: two
  context: {cluster: other, user: me}
current-context: two
"""


def test_the_first_file_to_name_something_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(FIRST)
    second.write_text(SECOND)
    merged = load([first, tmp_path / "missing", second])
    assert merged.clusters == {"shared": {"server": "https://first"}, "other": {"server": "https://other"}}
    assert merged.users == {"me": {"token": "first"}}, "entries of one name are not mixed"
    assert merged.contexts.keys() == {"one", "two"}
    assert merged.current_context == "two", "the first file names none"


def test_the_first_current_context_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("current-context: one")
    second.write_text(SECOND)
    assert load([first, second]).current_context == "one"


@pytest.mark.parametrize(
    ("environ", "files"),
    [
        pytest.param({}, ["/home/me/.kube/config"], id="default"),
        pytest.param({"KUBECONFIG": ""}, ["/home/me/.kube/config"], id="empty is not set"),
        pytest.param({"KUBECONFIG": "/a"}, ["/a"], id="one"),
        pytest.param({"KUBECONFIG": "/a::/b:/a"}, ["/a", "/b"], id="list with a gap and a repetition"),
    ],
)
def test_which_files(environ: dict[str, str], files: list[str]) -> None:
    assert kubeconfig_files(environ, Path("/home/me")) == [Path(file) for file in files]


def test_names_of_files_are_seen_from_the_file_that_names_them(tmp_path: Path) -> None:
    text = """
clusters:
- name: c
  cluster: {certificate-authority: ca.crt}
users:
- name: u
  user:
    client-certificate: sub/crt
    client-key: /abs/key
    tokenFile: ../token
- name: in-path
  user: {exec: {command: plugin}}
- name: beside
  user: {exec: {command: ./plugin}}
"""
    config = parse(text, tmp_path / "config")
    assert config.clusters["c"] == {"certificate-authority": f"{tmp_path}/ca.crt"}
    assert config.users["u"] == {
        "client-certificate": f"{tmp_path}/sub/crt",
        "client-key": "/abs/key",
        "tokenFile": f"{tmp_path}/../token",
    }
    assert config.users["in-path"]["exec"]["command"] == "plugin"
    assert config.users["beside"]["exec"]["command"] == f"{tmp_path}/plugin"


@pytest.mark.parametrize("text", ["", "# nothing", "{}", "clusters: null"], ids=repr)
def test_an_empty_file_names_nothing(text: str) -> None:
    assert parse(text, Path("f")) == Kubeconfig()
    assert parse(text, Path("f")).empty


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not YAML"),
        ("[]", "not a kubeconfig"),
        ("word", "not a kubeconfig"),
        ("clusters: {a: b}", "clusters is no list"),
        ("users: [x]", "an entry of users has no name"),
        ("contexts: [{name: 5}]", "an entry of contexts has no name"),
        ("clusters: [{name: a, cluster: [1]}]", "cluster 'a' is no mapping"),
    ],
    ids=lambda text: text,
)
def test_what_is_no_kubeconfig(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"f: {problem}"):
        parse(text, Path("f"))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load([tmp_path])
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot read"):
        load([tmp_path / "binary"])
