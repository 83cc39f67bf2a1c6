"""What an object takes of a ResourceQuota, and whether it is in a quota's scopes."""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rayward.kube.machinery.jsonvalue import entries, section
from rayward.local.apiserver.behaviour import Object

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
_PLAIN = frozenset({PODS, SERVICES, CLAIMS, "configmaps", "replicationcontrollers", "resourcequotas", "secrets"})
_BY_CLASS = f".storageclass.storage.k8s.io/{CLAIMS}"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_NODE_PORTS, _BALANCERS = "services.nodeports", "services.loadbalancers"
_PRIORITY = "PriorityClass"
_TERMS = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")


@dataclass(frozen=True, slots=True)
class Share:
    """One object as quotas see it."""

    amounts: Mapping[str, int]
    scopes: frozenset[str] = frozenset()
    """The scopes it is in; only pods are in any."""
    priority: str = ""
    """The pod's priority class."""
    lingers_from: float | None = None
    """From then on a pod is overdue: still an object, but no longer counted among ``pods``."""

    def at(self, now: float) -> Mapping[str, int]:
        """What it takes at a moment."""
        if self.lingers_from is None or now <= self.lingers_from:
            return self.amounts
        return {name: amount for name, amount in self.amounts.items() if name != PODS}


@dataclass(frozen=True, slots=True)
class Selector:
    """One requirement of a quota on the objects it counts."""

    scope: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()

    def matches(self, share: Share) -> bool:
        """Whether an object meets it."""
        if self.scope != _PRIORITY:
            return self.scope in share.scopes
        if self.operator == "Exists":
            return bool(share.priority)
        if self.operator == "DoesNotExist":
            return not share.priority
        return (share.priority in self.values) is (self.operator == "In")


def selectors(spec: Object) -> tuple[Selector, ...]:
    """What a quota requires of the objects it counts; nothing: it counts all."""
    expressions = entries(section(spec, "scopeSelector"), "matchExpressions")
    return (
        *(Selector(scope) for scope in entries(spec, "scopes")),
        *(Selector(each["scopeName"], each["operator"], frozenset(entries(each, "values"))) for each in expressions),
    )


def kind_counted(name: str) -> str:
    """The resource, as it is stored, whose objects a limit of this name counts; empty: it counts no objects."""
    if name.startswith("count/"):
        kind = name.removeprefix("count/")
        # one kind under two names
        return "events" if kind == "events.events.k8s.io" else kind
    if name in (_NODE_PORTS, _BALANCERS):
        return SERVICES
    if name.endswith(_BY_CLASS):
        return CLAIMS
    return name if name in _PLAIN else ""


def counts_all(names: Sequence[str]) -> bool:
    """Whether limits of these names count each object of their kind as one, whatever it is like."""
    return all(name.startswith("count/") or (name in _PLAIN and name != PODS) for name in names)


def share_of(kind: str, obj: Object) -> Share:
    """What an object of a resource takes."""
    amounts = {f"count/{kind}": 1, **({kind: 1} if kind in _PLAIN else {})}
    spec = section(obj, "spec")
    if kind == PODS:
        return _pod(obj, spec, amounts)
    if kind == SERVICES:
        return Share({**amounts, **_service(spec)})
    if kind == CLAIMS:
        annotation = section(obj["metadata"], "annotations").get(_CLASS_ANNOTATION)
        storage_class = annotation if annotation is not None else spec.get("storageClassName")
        return Share({**amounts, **({f"{storage_class}{_BY_CLASS}": 1} if storage_class else {})})
    return Share(amounts)


def _pod(obj: Object, spec: Object, amounts: dict[str, int]) -> Share:
    status, metadata = section(obj, "status"), obj["metadata"]
    if status.get("phase") in ("Succeeded", "Failed"):
        del amounts[PODS]
    lingers_from, grace = None, metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp") and grace is not None:
        marked = time.strptime(metadata["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
        lingers_from = float(calendar.timegm(marked) + grace)
    scopes = {
        "NotTerminating" if spec.get("activeDeadlineSeconds") is None else "Terminating",
        "BestEffort" if status.get("qosClass") == "BestEffort" else "NotBestEffort",
        *({"CrossNamespacePodAffinity"} if any(_looks_elsewhere(term) for term in _affinity_terms(spec)) else ()),
    }
    return Share(amounts, frozenset(scopes), spec.get("priorityClassName") or "", lingers_from)


def _affinity_terms(spec: Object) -> Iterator[Object]:
    for side in ("podAffinity", "podAntiAffinity"):
        for strength in _TERMS:
            for term in entries(section(section(spec, "affinity"), side), strength):
                yield term.get("podAffinityTerm") or term


def _looks_elsewhere(term: Object) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None


def _service(spec: Object) -> dict[str, int]:
    ports = entries(spec, "ports")
    if spec.get("type") == "NodePort":
        return {_NODE_PORTS: len(ports)}
    if spec.get("type") != "LoadBalancer":
        return {}
    if spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    return {_NODE_PORTS: len(ports), _BALANCERS: 1}
