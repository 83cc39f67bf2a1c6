"""Credentials from a plugin: a program of the user's cloud, as ``users[].user.exec`` names it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

from rayward.kube.client.credentials import ConfigError, Credential, NoCredentials
from rayward.kube.client.values import as_dict
from rayward.kube.core.meta import parse_time

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_PLUGIN_SECONDS: Final = 60
_EARLY_SECONDS: Final = 5.0
_SHOWN: Final = 500


class ExecPlugin(msgspec.Struct, frozen=True):
    """A plugin as a kubeconfig describes it."""

    command: str
    """Absolute if the kubeconfig gave a path, else looked up in PATH."""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = API_VERSIONS[0]
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None
    """What the plugin is told of the cluster, where it asks for that."""


class ExecCredentials:
    """Runs the plugin when there is no credential, it has expired, or the server refused it."""

    def __init__(self, plugin: ExecPlugin, *, wall: Callable[[], float] = time.time) -> None:
        if plugin.api_version not in API_VERSIONS:
            raise ConfigError(f"exec plugin {plugin.command}: apiVersion {plugin.api_version!r} is not supported")
        if plugin.interactive_mode == "Always":
            raise ConfigError(
                f"exec plugin {plugin.command} has interactiveMode Always: it wants to ask the user, which is not"
                " possible here; log in with its own command first, or use a token or certificate"
            )
        self._plugin = plugin
        self._wall = wall
        self._lock = threading.Lock()
        self._held: tuple[Credential, float | None] | None = None

    def fresh(self) -> Credential | None:
        """The credential held, unless it is about to expire."""
        held = self._held
        if held is None:
            return None
        credential, expires = held
        return credential if expires is None or self._wall() < expires - _EARLY_SECONDS else None

    def load(self) -> Credential:
        """Run the plugin, unless another thread just did."""
        with self._lock:
            held = self.fresh()
            if held is not None:
                return held
            self._held = parse_credential(_run(self._plugin), self._plugin)
            return self._held[0]

    def reject(self, used: Credential) -> bool:
        """Forget ``used``; the plugin may know a better one."""
        with self._lock:
            if self._held is not None and self._held[0] == used:
                self._held = None
        return True


def parse_credential(answer: bytes, plugin: ExecPlugin) -> tuple[Credential, float | None]:
    """The credential in a plugin's answer, and when it expires in seconds since 1970.

    Raises:
        NoCredentials: The answer is no ExecCredential with a credential in it.
    """
    try:
        parsed: Any = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise NoCredentials(f"exec plugin {plugin.command}: decoding stdout: {error}") from error
    answered = as_dict(parsed)
    version = answered.get("apiVersion")
    if answered.get("kind") != "ExecCredential" or version != plugin.api_version:
        raise NoCredentials(
            f"exec plugin is configured to use API version {plugin.api_version}, plugin returned version {version}"
        )
    if answered.get("status") is None:
        raise NoCredentials("exec plugin didn't return a status field")
    status = as_dict(answered["status"])
    token, certificate, key = (
        str(status.get(name) or "") or None for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not (token or certificate or key):
        raise NoCredentials("exec plugin didn't return a token or cert/key pair")
    if (certificate is None) != (key is None):
        raise NoCredentials("exec plugin returned only certificate or key, not both")
    return Credential(token, certificate, key), _expiry(status.get("expirationTimestamp"), plugin)


def _expiry(stated: Any, plugin: ExecPlugin) -> float | None:
    if stated is None:
        return None
    try:
        return parse_time(str(stated)).timestamp()
    except ValueError as error:
        raise NoCredentials(f"exec plugin {plugin.command}: expirationTimestamp: {error}") from error


def _run(plugin: ExecPlugin) -> bytes:
    command = plugin.command if Path(plugin.command).is_absolute() else shutil.which(plugin.command)
    if command is None or not Path(command).exists():
        hint = f"\n{plugin.install_hint}" if plugin.install_hint else ""
        raise NoCredentials(f"exec: executable {plugin.command} not found{hint}")
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = dict(plugin.cluster)
    info = orjson.dumps({"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}).decode()
    try:
        done = subprocess.run(  # noqa: S603 - the user's own kubeconfig names the program
            [command, *plugin.args],
            env={**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": info},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PLUGIN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoCredentials(f"exec: executable {plugin.command} did not end within {_PLUGIN_SECONDS} s") from error
    except OSError as error:
        raise NoCredentials(f"exec: executable {plugin.command} cannot run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-_SHOWN:]
        raise NoCredentials(
            f"exec: executable {plugin.command} failed with exit code {done.returncode}" + (f": {said}" if said else "")
        )
    return done.stdout
