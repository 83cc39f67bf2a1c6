"""Objects that every Kubernetes has from its first moment; the controllers make the rest."""

from __future__ import annotations

from typing import Any

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.objects import metadata_of
from rayward.local.apiserver.options import WriteOptions
from rayward.local.apiserver.request import Request
from rayward.local.apiserver.requestinfo import RequestInfo
from rayward.local.apiserver.status import ApiError
from rayward.local.apiserver.verbs.create import insert

_SERVER = User("system:apiserver", groups=("system:masters", "system:authenticated"))
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_CRITICAL = {
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (2000001000, "Used for system critical pods that must not be moved from their node."),
}


async def ensure(core: Core, service_address: str, port: int, authority: str) -> None:
    """Create what is missing. ``authority`` is the PEM of who signs the certificates of this server's callers."""
    for name in _NAMESPACES:
        await _create(core, ("", "v1", "namespaces"), "", {"metadata": {"name": name}})
    for name, (value, description) in _CRITICAL.items():
        fields = {"metadata": {"name": name}, "value": value, "description": description}
        await _create(core, ("scheduling.k8s.io", "v1", "priorityclasses"), "", fields)
    # what programs read that let their own callers in as this server does
    known = {"metadata": {"name": "extension-apiserver-authentication"}, "data": {"client-ca-file": authority}}
    await _create(core, ("", "v1", "configmaps"), "kube-system", known)
    await _create(core, ("", "v1", "services"), "default", _service(service_address, port))


def _service(address: str, port: int) -> Object:
    metadata: Object = {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    }
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    spec = {"type": "ClusterIP", "clusterIP": address, "ports": ports, "sessionAffinity": "None"}
    return {"metadata": metadata, "spec": spec}


async def _create(core: Core, place: tuple[str, str, str], namespace: str, obj: Object) -> None:
    resource = core.registry.find(*place)
    assert resource is not None
    name: str = metadata_of(obj)["name"]
    if core.objects.store.newest(resource.key(namespace, name)) is not None:
        return
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
    if namespace:
        metadata_of(obj)["namespace"] = namespace
    resource.behaviour.coerce(obj)
    resource.behaviour.default(obj)
    info = RequestInfo(*place, namespace, "", "", (), "create")
    query: dict[str, Any] = {}
    request = Request(info, resource, query, {}, b"", _SERVER)
    options = WriteOptions("kube-apiserver", dry_run=False, validation="Ignore")
    try:
        await insert(core, request, obj, options, None)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
