"""One context of a kubeconfig as an Access."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from rayward.kube.client.access import Access
from rayward.kube.client.credentials import (
    ANONYMOUS,
    ConfigError,
    Credential,
    Credentials,
    FileCredentials,
    StaticCredentials,
)
from rayward.kube.client.execplugin import ExecCredentials, ExecPlugin
from rayward.kube.client.kubeconfig import Entry, Kubeconfig
from rayward.kube.client.values import as_dict, as_list
from rayward.net.proxy import check_proxy_url, proxy_from_environment
from rayward.net.tls import ClientTls

_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


def context_access(config: Kubeconfig, context: str | None = None, environ: Mapping[str, str] | None = None) -> Access:
    """One context, the current one unless named.

    Raises:
        ConfigError: The context or what it names is missing or wrong.
    """
    name = context or config.current_context
    if not name:
        raise ConfigError("no context is current: name one, or run `kubectl config use-context NAME`")
    chosen = _entry(config.contexts, name, f"context {name!r} does not exist")
    cluster_name, user_name = str(chosen.get("cluster") or ""), str(chosen.get("user") or "")
    cluster = _entry(config.clusters, cluster_name, f"cluster {cluster_name!r} was not found for context {name!r}")
    user = (
        _entry(config.users, user_name, f"user {user_name!r} was not found for context {name!r}") if user_name else {}
    )
    server = str(cluster.get("server") or "").rstrip("/")
    if urlsplit(server).scheme not in ("http", "https"):
        raise ConfigError(f"cluster {cluster_name!r}: server {server!r} is no http:// or https:// address")
    return Access(
        server=server,
        tls=_tls(cluster, cluster_name),
        proxy=_proxy(cluster, cluster_name, server, os.environ if environ is None else environ),
        credentials=_credentials(user, user_name, cluster) if server.startswith("https:") else ANONYMOUS,
        namespace=str(chosen.get("namespace") or "default"),
        headers=_impersonation(user),
    )


def _entry(entries: Mapping[str, Entry], name: str, problem: str) -> Entry:
    try:
        return entries[name]
    except KeyError:
        known = ", ".join(sorted(entries)) or "none"
        raise ConfigError(f"{problem} (there are: {known})") from None


def _tls(cluster: Entry, name: str) -> ClientTls:
    authority = _data(cluster, "certificate-authority-data", f"cluster {name!r}")
    if authority is None and cluster.get("certificate-authority"):
        authority = _file_text(str(cluster["certificate-authority"]), f"certificate-authority of cluster {name!r}")
    insecure = cluster.get("insecure-skip-tls-verify") is True
    if insecure and authority:
        raise ConfigError(f"cluster {name!r}: insecure-skip-tls-verify and a certificate authority exclude each other")
    return ClientTls(authority, verify=not insecure, server_name=cluster.get("tls-server-name") or None)


def _proxy(cluster: Entry, name: str, server: str, environ: Mapping[str, str]) -> str | None:
    stated = cluster.get("proxy-url")
    proxy = str(stated) if stated else proxy_from_environment(server, environ)
    try:
        return check_proxy_url(proxy) if proxy else None
    except ValueError as error:
        raise ConfigError(f"cluster {name!r}: proxy-url: {error}") from error


def _credentials(user: Entry, name: str, cluster: Entry) -> Credentials:
    if user.get("username") or user.get("password"):
        raise ConfigError(f"user {name!r}: user name and password are not supported by Kubernetes any more")
    if user.get("auth-provider"):
        raise ConfigError(f"user {name!r}: auth-provider was removed from Kubernetes; use an exec plugin")
    certificate = _data(user, "client-certificate-data", f"user {name!r}")
    key = _data(user, "client-key-data", f"user {name!r}")
    certificate_file = None if certificate else _path(user, "client-certificate")
    key_file = None if key else _path(user, "client-key")
    if (certificate or certificate_file) and not (key or key_file):
        raise ConfigError(f"user {name!r}: client-key-data or client-key must be specified for the client certificate")
    token = str(user["token"]) if user.get("token") else None
    token_file = _path(user, "tokenFile")
    if token or token_file or certificate or certificate_file:
        fixed = Credential(token, certificate, key)
        if not (token_file or certificate_file or key_file):
            return StaticCredentials(fixed)
        return FileCredentials(token_file=token_file, certificate_file=certificate_file, key_file=key_file, fixed=fixed)
    return _plugin(user["exec"], name, cluster) if user.get("exec") else ANONYMOUS


def _plugin(stated: Any, name: str, cluster: Entry) -> Credentials:
    plugin = as_dict(stated)
    if not plugin.get("command"):
        raise ConfigError(f"user {name!r}: exec has no command")
    version = str(plugin.get("apiVersion") or "")
    mode = str(plugin.get("interactiveMode") or "")
    if not mode and version.endswith("/v1"):
        raise ConfigError(f"interactiveMode must be specified for {name} to use exec authentication plugin")
    env = map(as_dict, as_list(plugin.get("env")))
    return ExecCredentials(
        ExecPlugin(
            command=str(plugin["command"]),
            args=tuple(str(arg) for arg in as_list(plugin.get("args"))),
            env=tuple((str(pair.get("name") or ""), str(pair.get("value") or "")) for pair in env),
            api_version=version,
            install_hint=str(plugin.get("installHint") or ""),
            interactive_mode=mode or "IfAvailable",
            cluster=_cluster_info(cluster) if plugin.get("provideClusterInfo") is True else None,
        )
    )


def _cluster_info(cluster: Entry) -> Entry:
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
    info: Entry = {name: cluster[name] for name in names if cluster.get(name)}
    if cluster.get("certificate-authority") and "certificate-authority-data" not in info:
        text = _file_text(str(cluster["certificate-authority"]), "certificate-authority")
        info["certificate-authority-data"] = base64.b64encode(text.encode()).decode()
    for extension in map(as_dict, as_list(cluster.get("extensions"))):
        if extension.get("name") == _EXEC_EXTENSION:
            info["config"] = extension.get("extension")
    return info


def _impersonation(user: Entry) -> tuple[tuple[str, str], ...]:
    if not user.get("as"):
        return ()
    headers = [("Impersonate-User", str(user["as"]))]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers.extend(("Impersonate-Group", str(group)) for group in as_list(user.get("as-groups")))
    for extra, values in as_dict(user.get("as-user-extra")).items():
        name = f"Impersonate-Extra-{quote(extra, safe='')}"
        headers.extend((name, str(value)) for value in as_list(values))
    return tuple(headers)


def _path(entry: Entry, name: str) -> Path | None:
    return Path(str(entry[name])) if entry.get(name) else None


def _data(entry: Entry, name: str, whose: str) -> str | None:
    if not entry.get(name):
        return None
    try:
        return base64.b64decode(str(entry[name]), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{whose}: {name} is not base64 of PEM text: {error}") from error


def _file_text(name: str, what: str) -> str:
    try:
        return Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {what}: {error}") from error
