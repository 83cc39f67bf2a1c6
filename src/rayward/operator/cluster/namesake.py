"""An object that is there under the name of one that was to be made: whose it is, and what to do about it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.meta import controller_of, is_controlled_by
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import SECRETS, SERVICE_ACCOUNTS, Resource
from rayward.operator.cluster.plan import Mend

Object = dict[str, Any]

_USABLE: Final = frozenset({SECRETS, SERVICE_ACCOUNTS})
"""Kinds of which a user's own does as well as the cluster's: pods only name them."""
_OF_CLUSTER: Final = (labels.CLUSTER, labels.HEADLESS_WORKERS, labels.ORIGIN_NAME)
"""Every child has one of these with the cluster's name, KubeRay's and ours."""


class Taken(msgspec.Struct, frozen=True):
    """It is somebody else's and stays as it is."""

    why: str


def deal_with(cluster: RayCluster, resource: Resource, body: Object, found: KubeObject) -> Mend | Taken | None:
    """What to do instead of making ``body``; None to use ``found`` as it is.

    What the cluster owns gets back the labels by which it is watched. What an earlier cluster left behind becomes this
    one's; the next look brings it to the spec.
    """
    if is_controlled_by(found, cluster):
        lost = any(found.metadata.label(name) != value for name, value in body["metadata"]["labels"].items())
        return _mend(resource, body, found, {}) if lost else None
    controller = controller_of(found)
    if found.deleting:
        return Taken("and is being deleted: it is made anew when that one is gone")
    owners: list[Object] | None = body["metadata"].get("ownerReferences")
    if controller is None:
        if owners and any(found.metadata.label(name) == cluster.metadata.name for name in _OF_CLUSTER):
            others: list[Object] = msgspec.to_builtins(found.metadata.owner_references or ())
            return _mend(resource, body, found, {"ownerReferences": [*others, *owners]})
        if resource in _USABLE or not owners:
            return None
        return Taken(_unowned(cluster, resource, found.metadata.name))
    if resource in _USABLE and controller.kind != RAY_CLUSTERS.kind:
        return None
    return Taken(
        f"and belongs to {controller.kind} {controller.name} ({controller.uid}), so it is left alone: "
        "delete it if nobody needs it, or give this RayCluster another name"
    )


def _mend(resource: Resource, body: Object, found: KubeObject, more: Object) -> Mend:
    uid = found.metadata.uid
    change = {"metadata": {"uid": uid, "labels": body["metadata"]["labels"], **more}}
    return Mend(resource, found.metadata.name, uid, change)


def _unowned(cluster: RayCluster, resource: Resource, name: str) -> str:
    hand_over = (
        f"kubectl label {resource.kind.lower()} {name} -n {cluster.metadata.namespace} "
        f"{labels.CLUSTER}={cluster.metadata.name}"
    )
    return (
        "and was not made for this cluster, so it is left alone: rename or delete it, or give this RayCluster another "
        f"name; to hand it over, to be changed and to go with the cluster: {hand_over}"
    )
