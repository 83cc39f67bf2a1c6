"""The objects a cluster has beside its pods: made where missing, mended where the spec has moved on."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.meta import controller_of
from rayward.kube.core.resource import (
    INGRESSES,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.kube.core.service import Service
from rayward.operator.base.writing import APPLIED
from rayward.operator.cluster import children, services
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.plan import Make, Mend, NewSecret, Remove, Write

Object = dict[str, Any]

_FOLLOWING: Final = frozenset({INGRESSES, NETWORK_POLICIES, SERVICES})
"""Kinds of which nothing stays that the spec no longer asks for."""
_HEADLESS: Final = "None"
_ADDRESS: Final = ("type", "clusterIP", "publishNotReadyAddresses")
"""What makes a service's address: it is in use, so that it is given up only where the spec asks for another."""


class Belongings(msgspec.Struct, frozen=True):
    """What to write about them."""

    before_pods: tuple[Write, ...] = ()
    """Without which a pod would be refused, could not start, or would be open to everyone."""
    beside_pods: tuple[Write, ...] = ()


def plan_belongings(cluster: RayCluster, observed: Observed) -> Belongings:
    """Bring everything but the pods to the spec."""
    before: list[Write] = []
    beside: list[Write] = []
    kept: set[tuple[Resource, str]] = set()
    secret = children.auth_secret(cluster, "")
    if secret is not None:
        name: str = secret["metadata"]["name"]
        kept.add((SECRETS, name))
        if (SECRETS, name) not in observed.owned:
            before.append(NewSecret(name))
    before += _claim(cluster, observed)
    early = [(SERVICE_ACCOUNTS, children.service_account(cluster))]
    early += [(NETWORK_POLICIES, policy) for policy in children.network_policies(cluster)]
    late = [
        (SERVICES, services.head_service(cluster)),
        (SERVICES, services.headless_service(cluster)),
        (SERVICES, services.serve_service(cluster)),
        (ROLES, children.role(cluster)),
        (ROLE_BINDINGS, children.role_binding(cluster)),
        (INGRESSES, children.ingress(cluster)),
    ]
    for wanted, writes in ((early, before), (late, beside)):
        for resource, body in wanted:
            if body is not None:
                kept.add((resource, body["metadata"]["name"]))
                writes += _bring(resource, body, observed)
    for (resource, name), found in observed.owned.items():
        # What others made and gave to the cluster is theirs to remove.
        ours = resource in _FOLLOWING and APPLIED.is_marked(found)
        if ours and (resource, name) not in kept and not found.deleting:
            beside.append(Remove(resource, name, found.metadata.uid, why="the spec no longer asks for it"))
    return Belongings(tuple(before), tuple(beside))


def _bring(resource: Resource, body: Object, observed: Observed) -> list[Write]:
    name: str = body["metadata"]["name"]
    found = observed.owned.get((resource, name))
    if found is None:
        return [Make(resource, APPLIED.marked(body))]
    if found.deleting or APPLIED.matches(found, body):
        return []
    change = APPLIED.change(found, body)
    if isinstance(found, Service):
        if _keeps_address(found, body):
            change["spec"] = {part: value for part, value in change["spec"].items() if part not in _ADDRESS}
        elif (found.spec.cluster_ip == _HEADLESS) != _is_headless(body):
            why = "a service with an address of its own cannot become one without, nor the other way round: "
            return [Remove(resource, name, found.metadata.uid, why=f"{why}it is made anew")]
        elif change["spec"].get("clusterIP") is None:
            # The server chose it: it is not ours to take away.
            change["spec"].pop("clusterIP", None)
    return [Mend(resource, name, found.metadata.uid, change, replaceable=True)]


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
    """A claim is made and never changed; only whether it goes with the cluster follows the spec."""
    body = children.storage_claim(cluster)
    if body is None:
        return []
    found = observed.claim
    if found is None:
        return [Make(PERSISTENT_VOLUME_CLAIMS, body)]
    owners: list[Object] | None = body["metadata"].get("ownerReferences")
    owner = controller_of(found)
    if found.deleting or bool(owners) == (owner is not None) or (owner and owner.uid != cluster.metadata.uid):
        return []
    change: Object = {"metadata": {"uid": found.metadata.uid, "ownerReferences": owners}}
    return [Mend(PERSISTENT_VOLUME_CLAIMS, found.metadata.name, found.metadata.uid, change)]
