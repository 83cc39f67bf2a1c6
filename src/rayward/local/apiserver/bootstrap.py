"""Objects that every Kubernetes has from its first moment; the controllers make the rest."""

from __future__ import annotations

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import encode, new_uid, stamp
from rayward.local.store import Conflict

_CRITICAL = {
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (2000001000, "Used for system critical pods that must not be moved from their node."),
}


async def ensure(core: Core) -> None:
    """Create what is missing."""
    for name, (value, description) in _CRITICAL.items():
        await _create(
            core, name, {"value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority"}
        )


async def _create(core: Core, name: str, fields: Object) -> None:
    resource = core.registry.find("scheduling.k8s.io", "v1", "priorityclasses")
    if resource is None:
        return
    metadata = {"name": name, "uid": new_uid(), "generation": 1, "creationTimestamp": stamp(core.clock())}
    obj: Object = {"metadata": metadata, **fields}
    try:
        await core.objects.store.put(resource.key("", name), lambda rev: encode(resource, obj, rev), expect=0)
    except Conflict:
        return
