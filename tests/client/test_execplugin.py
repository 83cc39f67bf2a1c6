from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rayward.kube.client.credentials import ConfigError, Credential
from rayward.kube.client.execplugin import ExecCredentials, ExecPlugin, parse_credential

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
TIME = "2026-01-01T00:00:00Z"
TIME_SECONDS = 1767225600.0


class Plugin:
    """A real program; it counts its runs and notes what it was told."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "plugin"
        self.answers({"token": "t"})

    def answers(self, status: dict[str, Any] | None, version: str = V1, code: int = 0, stderr: str = "") -> None:
        answer = json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})
        self._file.write_text(
            f"#!{sys.executable} -SE\n"
            "import json, os, sys\n"
            f"with open({str(self._folder / 'runs')!r}, 'a') as runs:\n"
            "    told = [sys.argv[1:], json.loads(os.environ['KUBERNETES_EXEC_INFO']), os.environ.get('EXTRA')]\n"
            "    runs.write(json.dumps(told) + '\\n')\n"
            f"print({stderr!r}, file=sys.stderr)\n"
            f"print({answer!r})\n"
            f"sys.exit({code})\n"
        )
        self._file.chmod(0o755)

    @property
    def runs(self) -> list[Any]:
        file = self._folder / "runs"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def described(self, **more: Any) -> ExecPlugin:
        return ExecPlugin(str(self._file), **more)


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def test_it_runs_once_and_is_told_what_it_needs(plugin: Plugin) -> None:
    cluster = {"server": "https://x"}
    described = plugin.described(args=("get", "-x"), env=(("EXTRA", "e"),), cluster=cluster)
    credentials = ExecCredentials(described)
    assert credentials.fresh() is None
    assert credentials.load() == credentials.load() == credentials.fresh() == Credential("t")
    info = {"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": False, "cluster": cluster}}
    assert plugin.runs == [[["get", "-x"], info, "e"]]


def test_v1beta1_works_too(plugin: Plugin) -> None:
    plugin.answers({"token": "old"}, V1BETA1)
    assert ExecCredentials(plugin.described(api_version=V1BETA1)).load() == Credential("old")


def test_it_runs_again_shortly_before_its_credential_expires(plugin: Plugin) -> None:
    plugin.answers({"token": "one", "expirationTimestamp": TIME})
    now = TIME_SECONDS - 60
    credentials = ExecCredentials(plugin.described(), wall=lambda: now)
    assert credentials.load() == Credential("one")
    now = TIME_SECONDS - 6
    assert credentials.fresh() == Credential("one")
    now = TIME_SECONDS - 5
    plugin.answers({"token": "two"})
    assert credentials.fresh() is None
    assert credentials.load() == credentials.fresh() == Credential("two")


def test_it_runs_again_after_the_server_refused(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.described())
    used = credentials.load()
    plugin.answers({"token": "two"})
    assert credentials.reject(used)
    assert credentials.fresh() is None
    assert credentials.load() == Credential("two")
    assert credentials.reject(used), "refusing what is no longer used"
    assert credentials.fresh() == Credential("two"), "does not cost another run"


def test_many_who_wait_share_one_run(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.described())
    threads = [threading.Thread(target=credentials.load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(plugin.runs) == 1


def test_a_failure_says_what_the_plugin_said(plugin: Plugin) -> None:
    plugin.answers(None, code=3, stderr="please log in")
    with pytest.raises(ConfigError, match="failed with exit code 3: please log in"):
        ExecCredentials(plugin.described()).load()


@pytest.mark.parametrize("command", ["no-such-plugin", "/no/such/plugin"])
def test_a_missing_plugin_comes_with_its_hint(command: str) -> None:
    plugin = ExecPlugin(command, install_hint="get it from the shop")
    with pytest.raises(ConfigError, match=rf"executable {command} not found\nget it from the shop"):
        ExecCredentials(plugin).load()


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"interactive_mode": "Always"}, "wants to ask the user"),
        ({"api_version": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1' is not supported"),
        ({"api_version": ""}, "'' is not supported"),
    ],
    ids=["interactive", "v1alpha1", "no version"],
)
def test_what_is_refused_at_once(plugin: Plugin, more: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        ExecCredentials(plugin.described(**more))
    assert plugin.runs == []


def answer(status: Any, version: str = V1, kind: str = "ExecCredential") -> bytes:
    return json.dumps({"kind": kind, "apiVersion": version, "status": status}).encode()


@pytest.mark.parametrize(
    ("given", "credential", "expires"),
    [
        pytest.param(answer({"token": "t"}), Credential("t"), None, id="token"),
        pytest.param(answer({"token": "t", "expirationTimestamp": TIME}), Credential("t"), TIME_SECONDS, id="expiry"),
        pytest.param(
            answer({"token": "t", "expirationTimestamp": "2026-01-01T01:00:00+01:00"}),
            Credential("t"),
            TIME_SECONDS,
            id="expiry in another zone",
        ),
        pytest.param(
            answer({"clientCertificateData": "C", "clientKeyData": "K"}), Credential(None, "C", "K"), None, id="pair"
        ),
    ],
)
def test_what_a_plugin_may_answer(given: bytes, credential: Credential, expires: float | None) -> None:
    assert parse_credential(given, ExecPlugin("p")) == (credential, expires)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param(b"", "decoding stdout", id="nothing"),
        pytest.param(b"[]", "plugin returned version None", id="a list"),
        pytest.param(
            answer({"token": "t"}, V1BETA1), f"use API version {V1}, plugin returned version {V1BETA1}", id="v"
        ),
        pytest.param(answer(None), "didn't return a status field", id="no status"),
        pytest.param(answer({}), "didn't return a token or cert/key pair", id="empty status"),
        pytest.param(answer({"clientKeyData": "K"}), "only certificate or key, not both", id="half a pair"),
        pytest.param(answer({"token": "t", "expirationTimestamp": "soon"}), "expirationTimestamp", id="bad expiry"),
    ],
)
def test_what_it_may_not(given: bytes, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_credential(given, ExecPlugin("p"))
