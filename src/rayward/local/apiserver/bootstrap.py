"""Objects that every Kubernetes has from its first moment; the controllers make the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.apply import track_update
from rayward.local.apiserver import recorded
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.objects import Live, encode, metadata_of, stamp
from rayward.local.apiserver.options import WriteOptions
from rayward.local.apiserver.rbac import parts
from rayward.local.apiserver.rbac.reconcile import reconciled
from rayward.local.apiserver.request import Request
from rayward.local.apiserver.requestinfo import RequestInfo
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.status import ApiError
from rayward.local.apiserver.verbs.create import insert
from rayward.local.apiserver.verbs.update import store_change

_SERVER = User("system:apiserver", groups=("system:masters", "system:authenticated"))
_MANAGER = "kube-apiserver"
_ROLES = "rbac.authorization.k8s.io"
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
    await asyncio.gather(*(_reconcile(core, *each) for each in _policy(recorded.policy())))
    own = _policy(parts.policy())
    await asyncio.gather(*(_reconcile(core, *each) for each in own))
    await _retire(core, {(plural, obj["metadata"]["name"]) for plural, obj in own})


def _policy(given: Mapping[str, Sequence[Object]]) -> list[tuple[str, Object]]:
    return [(plural, obj) for plural, objects in given.items() for obj in objects]


async def _reconcile(core: Core, plural: str, expected: Object) -> None:
    """Make a default role or binding, or add what a stored one lacks."""
    place = (_ROLES, "v1", plural)
    resource = core.registry.find(*place)
    assert resource is not None
    namespace, name = expected["metadata"].get("namespace") or "", expected["metadata"]["name"]
    live = core.objects.newest(resource, namespace, name)
    if live is not None:
        changed = reconciled(live.value, expected)
        if changed is live.value:
            return
        if "uid" in changed["metadata"]:
            await _update(core, resource, live, changed)
            return
        await _delete(core, resource, live)
    await _create(core, place, namespace, {**expected, "metadata": dict(expected["metadata"])})


async def _retire(core: Core, wanted: set[tuple[str, str]]) -> None:
    """Delete what an older version gave the parts of the stack, and this one does not."""
    for plural in {plural for plural, _ in wanted}:
        resource = core.registry.find(_ROLES, "v1", plural)
        assert resource is not None
        for key in core.objects.store.newest_keys(resource.scope("")):
            name = key.rpartition("/")[2]
            live = core.objects.newest(resource, "", name)
            if live is None or (plural, name) in wanted or not parts.is_ours(live.value):
                continue
            await _delete(core, resource, live)


async def _delete(core: Core, resource: Resource, live: Live) -> None:
    value, revision = live.value, live.record.revision
    await core.objects.store.delete(live.record.key, lambda rev: encode(resource, value, rev), expect=revision)


async def _update(core: Core, resource: Resource, live: Live, obj: Object) -> None:
    tracked, owners = track_update(
        live.value,
        obj,
        type=resource.behaviour.type,
        manager=_MANAGER,
        api_version=resource.api_version,
        now=stamp(core.clock()),
        owners=core.objects.owners(live),
    )
    await store_change(core, resource, live, tracked, owners, dry_run=False)


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
    options = WriteOptions(_MANAGER, dry_run=False, validation="Ignore")
    try:
        await insert(core, request, obj, options, None)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
