"""The built-in resources, as discovery lists them, with the behaviour of their kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rayward.local.apiserver import recorded
from rayward.local.apiserver.behaviour import Behaviour
from rayward.local.apiserver.builtin import admissionpolicy
from rayward.local.apiserver.builtin.claim.strategy import claim_behaviour
from rayward.local.apiserver.builtin.configmap import configmap_behaviour
from rayward.local.apiserver.builtin.controllerrevision import controllerrevision_behaviour
from rayward.local.apiserver.builtin.definition import definition_behaviour
from rayward.local.apiserver.builtin.disruption import disruption_behaviour
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.endpoints import endpoints_behaviour
from rayward.local.apiserver.builtin.endpointslice import endpointslice_behaviour
from rayward.local.apiserver.builtin.event import event_behaviour, new_event_behaviour
from rayward.local.apiserver.builtin.ingress import ingress_behaviour
from rayward.local.apiserver.builtin.job.strategy import job_behaviour
from rayward.local.apiserver.builtin.lease import lease_behaviour
from rayward.local.apiserver.builtin.limitrange import limitrange_behaviour
from rayward.local.apiserver.builtin.namespace import namespace_behaviour
from rayward.local.apiserver.builtin.networkpolicy import networkpolicy_behaviour
from rayward.local.apiserver.builtin.node import node_behaviour
from rayward.local.apiserver.builtin.pod.strategy import pod_behaviour
from rayward.local.apiserver.builtin.priorityclass import priorityclass_behaviour
from rayward.local.apiserver.builtin.quota import quota_behaviour
from rayward.local.apiserver.builtin.rbac import binding_behaviour, role_behaviour
from rayward.local.apiserver.builtin.review import review_behaviour
from rayward.local.apiserver.builtin.runtimeclass import runtimeclass_behaviour
from rayward.local.apiserver.builtin.secret import secret_behaviour
from rayward.local.apiserver.builtin.service.strategy import service_behaviour
from rayward.local.apiserver.builtin.serviceaccount import serviceaccount_behaviour
from rayward.local.apiserver.builtin.volume import storageclass_behaviour, volume_behaviour
from rayward.local.apiserver.builtin.webhookconfiguration import webhook_behaviour
from rayward.local.apiserver.builtin.workload.deployment import deployment_behaviour
from rayward.local.apiserver.builtin.workload.replicaset import replicaset_behaviour
from rayward.local.apiserver.builtin.workload.statefulset import statefulset_behaviour
from rayward.local.apiserver.resource import Resource, Scale, Subresource

_BEHAVIOURS: Mapping[str, Callable[[], Behaviour]] = {
    "configmaps": configmap_behaviour,
    "endpoints": endpoints_behaviour,
    "events": event_behaviour,
    "limitranges": limitrange_behaviour,
    "namespaces": namespace_behaviour,
    "nodes": node_behaviour,
    "persistentvolumeclaims": claim_behaviour,
    "persistentvolumes": volume_behaviour,
    "pods": pod_behaviour,
    "resourcequotas": quota_behaviour,
    "secrets": secret_behaviour,
    "serviceaccounts": serviceaccount_behaviour,
    "services": service_behaviour,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": lambda: webhook_behaviour(mutating=True),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": lambda: webhook_behaviour(mutating=False),
    "validatingadmissionpolicies.admissionregistration.k8s.io": admissionpolicy.policy_behaviour,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": admissionpolicy.binding_behaviour,
    "customresourcedefinitions.apiextensions.k8s.io": definition_behaviour,
    "controllerrevisions.apps": controllerrevision_behaviour,
    "deployments.apps": deployment_behaviour,
    "replicasets.apps": replicaset_behaviour,
    "statefulsets.apps": statefulset_behaviour,
    "jobs.batch": job_behaviour,
    "leases.coordination.k8s.io": lease_behaviour,
    "endpointslices.discovery.k8s.io": endpointslice_behaviour,
    "events.events.k8s.io": new_event_behaviour,
    "ingresses.networking.k8s.io": ingress_behaviour,
    "networkpolicies.networking.k8s.io": networkpolicy_behaviour,
    "runtimeclasses.node.k8s.io": runtimeclass_behaviour,
    "poddisruptionbudgets.policy": disruption_behaviour,
    "clusterroles.rbac.authorization.k8s.io": lambda: role_behaviour(cluster=True),
    "roles.rbac.authorization.k8s.io": lambda: role_behaviour(cluster=False),
    "clusterrolebindings.rbac.authorization.k8s.io": lambda: binding_behaviour(cluster=True),
    "rolebindings.rbac.authorization.k8s.io": lambda: binding_behaviour(cluster=False),
    "priorityclasses.scheduling.k8s.io": priorityclass_behaviour,
    "storageclasses.storage.k8s.io": storageclass_behaviour,
}
_SCALES: Mapping[str, Scale] = dict.fromkeys(
    ("deployments.apps", "replicasets.apps", "statefulsets.apps"),
    Scale(".spec.replicas", ".status.replicas", ".spec.selector"),
)
_DEPRECATIONS = {"endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
_DISCOVERED = "x-kubernetes-group-version-kind"


@cache
def resources() -> list[Resource]:
    """Every built-in resource that is served, in the order of discovery."""
    return [_resource(entry) for entry in recorded.resources()]


def behaviour_of_kind(group: str, version: str, kind: str) -> Behaviour | None:
    """The structure of a kind that only requests and answers are made of, such as ``policy/v1 Eviction``."""
    name = _types().get((group, version, kind))
    return review_behaviour(name, "") if name else None


def _resource(entry: Mapping[str, Any]) -> Resource:
    group, version, plural, kind = entry["group"], entry["version"], entry["plural"], entry["kind"]
    qualified = f"{plural}.{group}" if group else plural
    make = _BEHAVIOURS.get(qualified)
    return Resource(
        group=group,
        version=version,
        plural=plural,
        singular=entry["singular"],
        kind=kind,
        list_kind=f"{kind}List",
        namespaced=entry["namespaced"],
        verbs=tuple(entry["verbs"]),
        behaviour=make() if make else review_behaviour(_types()[group, version, kind], ""),
        short_names=tuple(entry["shortNames"]),
        categories=tuple(entry["categories"]),
        subresources={part["name"]: _subresource(part, entry) for part in entry["subresources"]},
        storage_hash=entry["storageVersionHash"],
        scale=_SCALES.get(qualified),
        deprecation=_DEPRECATIONS.get(qualified, ""),
    )


def _subresource(part: Mapping[str, Any], entry: Mapping[str, Any]) -> Subresource:
    kind = part["responseKind"]
    return Subresource(
        name=part["name"],
        group=kind["group"] or entry["group"],
        version=kind["version"] or entry["version"],
        kind=kind["kind"],
        verbs=tuple(part["verbs"]),
    )


@cache
def _types() -> Mapping[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, structure in recorded.schemas().items()
        for kind in structure.get(_DISCOVERED) or NO_ITEMS
    }
