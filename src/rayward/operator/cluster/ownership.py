"""The objects a cluster owns beside its pods: which to create, patch and delete, and name conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.meta import controller_of, is_controlled_by
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import (
    INGRESSES,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import Object
from rayward.operator.base.writing import APPLIED
from rayward.operator.cluster import children
from rayward.operator.cluster.desired import Child
from rayward.operator.cluster.state import Create, CreateSecret, Delete, Observed, Patch, State, Write

_DELETED_WITH_SPEC: Final = frozenset({INGRESSES, NETWORK_POLICIES, SERVICES})
"""Kinds of which nothing stays that the spec no longer asks for."""
_HEADLESS: Final = "None"
_ADDRESS: Final = ("type", "clusterIP", "publishNotReadyAddresses")
"""What makes a service's address: clients use it, so that it changes only where the spec asks for another."""
_SHAREABLE: Final = frozenset({SECRETS, SERVICE_ACCOUNTS})
"""Kinds of which a user's own does as well as the cluster's: pods only name them."""
_OF_CLUSTER: Final = (labels.CLUSTER, labels.HEADLESS_WORKERS, labels.ORIGIN_NAME)
"""Every child has one of these with the cluster's name, KubeRay's and ours."""


@dataclass(frozen=True, slots=True)
class ChildWrites:
    """What to write about the children."""

    before_pods: tuple[Write, ...] = ()
    beside_pods: tuple[Write, ...] = ()


def decide_children(state: State) -> ChildWrites:
    """Bring everything but the pods to the spec."""
    cluster, observed = state.cluster, state.observed
    before: list[Write] = []
    beside: list[Write] = []
    kept: set[tuple[Resource, str]] = set()
    secret = children.auth_secret(cluster, "")
    if secret is not None:
        name: str = secret["metadata"]["name"]
        kept.add((SECRETS, name))
        if (SECRETS, name) not in observed.owned:
            before.append(CreateSecret(name))
    before += _claim(cluster, observed)
    for child in state.desired.children:
        kept.add((child.resource, child.name))
        writes = before if child.before_pods else beside
        writes += _write(cluster, child, observed.owned.get((child.resource, child.name)))
    for (resource, name), found in observed.owned.items():
        # What others made and gave to the cluster is theirs to delete.
        ours = resource in _DELETED_WITH_SPEC and (resource, name) not in kept and APPLIED.is_marked(found)
        if ours and not found.deleting:
            beside.append(Delete(resource, name, found.metadata.uid, reason="not in the spec"))
    return ChildWrites(tuple(before), tuple(beside))


def _write(cluster: RayCluster, child: Child, found: KubeObject | None) -> list[Write]:
    if found is not None and (found.deleting or APPLIED.has_digest(found, child.digest)):
        return []
    body = child.build(cluster)
    assert body is not None
    resource, name = child.resource, child.name
    if found is None:
        return [Create(resource, APPLIED.marked(body))]
    change = APPLIED.change(found, body)
    if isinstance(found, Service):
        if _keeps_address(found, body):
            change["spec"] = {part: value for part, value in change["spec"].items() if part not in _ADDRESS}
        elif (found.spec.cluster_ip == _HEADLESS) != _is_headless(body):
            # A Service with an address cannot become headless, nor the other way round.
            return [Delete(resource, name, found.metadata.uid, reason="clusterIP is immutable")]
        elif change["spec"].get("clusterIP") is None:
            # The server chose it: it is not ours to take away.
            change["spec"].pop("clusterIP", None)
    return [Patch(resource, name, found.metadata.uid, change, replaceable=True)]


def _keeps_address(found: Service, body: Object) -> bool:
    """Whether another operator chose the address, or the spec asks for the same as before."""
    if not APPLIED.is_marked(found):
        return True
    before = APPLIED.outline(found)
    return before is not None and _address(before) == _address(body)


def _address(service: Object) -> Object:
    spec: Object = service.get("spec") or {}
    return {part: spec[part] for part in _ADDRESS if part in spec}


def _is_headless(service: Object) -> bool:
    return service["spec"].get("clusterIP") == _HEADLESS


def _claim(cluster: RayCluster, observed: Observed) -> list[Write]:
    """A claim is created and never changed; only whether it goes with the cluster follows the spec."""
    body = children.storage_claim(cluster)
    if body is None:
        return []
    found = observed.claim
    if found is None:
        return [Create(PERSISTENT_VOLUME_CLAIMS, body)]
    owners: list[Object] | None = body["metadata"].get("ownerReferences")
    owner = controller_of(found)
    if found.deleting or bool(owners) == (owner is not None) or (owner and owner.uid != cluster.metadata.uid):
        return []
    change: Object = {"metadata": {"uid": found.metadata.uid, "ownerReferences": owners}}
    return [Patch(PERSISTENT_VOLUME_CLAIMS, found.metadata.name, found.metadata.uid, change)]


@dataclass(frozen=True, slots=True)
class NameConflict:
    """The object under the wanted name is another's and stays as it is."""

    reason: str


def resolve_conflict(
    cluster: RayCluster, resource: Resource, body: Object, found: KubeObject
) -> Patch | NameConflict | None:
    """What to do instead of creating ``body``, whose name ``found`` has; None to use ``found`` as it is.

    What the cluster owns gets back the labels by which it is watched. What a deleted cluster of the same name left
    behind becomes this one's; the next reconcile brings it to the spec.
    """
    if is_controlled_by(found, cluster):
        lost = any(found.metadata.label(name) != value for name, value in body["metadata"]["labels"].items())
        return _relabel(resource, body, found, {}) if lost else None
    controller = controller_of(found)
    if found.deleting:
        return NameConflict("and is being deleted; it is created again once that is done")
    owners: list[Object] | None = body["metadata"].get("ownerReferences")
    if controller is None:
        if owners and any(found.metadata.label(name) == cluster.metadata.name for name in _OF_CLUSTER):
            others: list[Object] = msgspec.to_builtins(found.metadata.owner_references or ())
            return _relabel(resource, body, found, {"ownerReferences": [*others, *owners]})
        if resource in _SHAREABLE or not owners:
            return None
        return NameConflict(_not_owned(cluster, resource, found.metadata.name))
    if resource in _SHAREABLE and controller.kind != RAY_CLUSTERS.kind:
        return None
    return NameConflict(
        f"and is owned by {controller.kind} {controller.name} (uid {controller.uid}); delete it if it is not needed, "
        "or rename this RayCluster"
    )


def _relabel(resource: Resource, body: Object, found: KubeObject, more: Object) -> Patch:
    uid = found.metadata.uid
    change = {"metadata": {"uid": uid, "labels": body["metadata"]["labels"], **more}}
    return Patch(resource, found.metadata.name, uid, change)


def _not_owned(cluster: RayCluster, resource: Resource, name: str) -> str:
    adopt = (
        f"kubectl label {resource.kind.lower()} {name} -n {cluster.metadata.namespace} "
        f"{labels.CLUSTER}={cluster.metadata.name}"
    )
    return (
        "and is not owned by this RayCluster; rename or delete it, rename this RayCluster, or let this RayCluster own "
        f"it, which changes it and deletes it with the cluster: {adopt}"
    )
