"""Whether a stack that runs can already be used: pods can be created, and a node is there to run them."""

from __future__ import annotations

from dataclasses import dataclass

from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NODES, SERVICE_ACCOUNTS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError
from rayward.stack.folder import Folder


@dataclass(frozen=True, slots=True)
class Usable:
    """A stack that takes objects; ``trouble`` says why no pod can run on it."""

    trouble: str = ""


def look(folder: Folder, *, with_node: bool) -> Usable | None:
    """What can be done with the stack: nothing yet, as long as a service account or the wanted node is missing."""
    try:
        with SyncClient.connect(find_access(folder.kubeconfig)) as client:
            client.get(SERVICE_ACCOUNTS, "default", "default")
            return _with(client.list(NODES).items) if with_node else Usable()
    except (ApiError, NetworkError, OSError, ValueError):
        return None


def _with(nodes: list[Object]) -> Usable | None:
    """A node that is not ready has said why: it will not become so by waiting."""
    told = [found for node in nodes for found in entries(section(node, "status"), "conditions")]
    ready = [found for found in told if found["type"] == "Ready"]
    if any(found["status"] == "True" for found in ready):
        return Usable()
    troubles = [found["message"] for found in ready if found["status"] == "False"]
    return Usable(troubles[0]) if troubles else None
