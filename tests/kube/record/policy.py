"""The roles and bindings that a new cluster has, before any controller has run."""

from __future__ import annotations

from typing import Any, Final

from tests.kube.record.server import Object, Server

_ROOT: Final = "apis/rbac.authorization.k8s.io/v1"
_RESOURCES: Final = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
_OWN: Final = ("creationTimestamp", "managedFields", "resourceVersion", "uid")


def record(server: Server) -> dict[str, list[Object]]:
    """The objects by resource, without what is of one cluster alone."""
    return {plural: [_plain(item) for item in server.get(f"{_ROOT}/{plural}")["items"]] for plural in _RESOURCES}


def _plain(item: Any) -> Object:
    metadata = {name: value for name, value in item["metadata"].items() if name not in _OWN}
    # a cluster role that only gathers others' rules has a null in place of its own
    return {**{name: value for name, value in item.items() if value is not None}, "metadata": metadata}
