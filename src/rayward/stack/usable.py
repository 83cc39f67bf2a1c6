"""Whether a stack that runs can already be used: pods can be created, and a node is there to run them."""

from __future__ import annotations

from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NODES, SERVICE_ACCOUNTS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError
from rayward.stack.folder import Folder


def is_usable(folder: Folder, *, with_node: bool) -> bool:
    """Whether the default service account exists and, if wanted, a node is ready."""
    try:
        with SyncClient.connect(find_access(folder.kubeconfig)) as client:
            client.get(SERVICE_ACCOUNTS, "default", "default")
            return not with_node or any(_is_ready(node) for node in client.list(NODES).items)
    except (ApiError, NetworkError, OSError, ValueError):
        return False


def _is_ready(node: Object) -> bool:
    conditions = entries(section(node, "status"), "conditions")
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)
