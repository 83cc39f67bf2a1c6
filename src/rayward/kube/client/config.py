"""Which API server the user means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rayward.kube.client.access import Access
from rayward.kube.client.context import context_access
from rayward.kube.client.credentials import ConfigError
from rayward.kube.client.incluster import ACCOUNT_FOLDER, in_cluster, in_cluster_access
from rayward.kube.client.kubeconfig import kubeconfig_files, load


def find_access(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    account_folder: Path = ACCOUNT_FOLDER,
) -> Access:
    """The named kubeconfig, else KUBECONFIG, else ~/.kube/config, else the pod's service account.

    Raises:
        ConfigError: None of them is there, or the one that is cannot be used.
    """
    environ = os.environ if environ is None else environ
    if kubeconfig is not None:
        if not kubeconfig.exists():
            raise ConfigError(f"kubeconfig {kubeconfig} does not exist")
        return context_access(load([kubeconfig]), context, environ)
    files = kubeconfig_files(environ, home or Path.home())
    config = load(files)
    if not config.empty:
        return context_access(config, context, environ)
    if in_cluster(environ, account_folder):
        return in_cluster_access(environ, account_folder)
    looked = ", ".join(str(file) for file in files)
    raise ConfigError(f"no Kubernetes is configured: looked for {looked} and for a service account; set KUBECONFIG")
