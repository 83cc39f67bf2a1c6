"""Access from inside a pod, by its service account."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rayward.kube.client.access import Access
from rayward.kube.client.credentials import ConfigError, FileCredentials
from rayward.net.tls import ClientTls

ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster(environ: Mapping[str, str], folder: Path = ACCOUNT_FOLDER) -> bool:
    """Whether this process runs in a pod that may talk to its API server."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (folder / "token").exists()


def in_cluster_access(environ: Mapping[str, str], folder: Path = ACCOUNT_FOLDER) -> Access:
    """The API server of this pod; its token is read again whenever the kubelet rotates it.

    Raises:
        ConfigError: This is no pod, or its service account is not mounted.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError("not inside a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set")
    credentials = FileCredentials(token_file=folder / "token")
    credentials.load()
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tls=ClientTls(authority=_text(folder / "ca.crt")),
        credentials=credentials,
        namespace=(_text(folder / "namespace") or "default").strip(),
    )


def _text(file: Path) -> str | None:
    try:
        return file.read_text()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error}") from error
