"""What an object takes of a ResourceQuota, and whether it is in a quota's scopes."""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rayward.kube.machinery import podamounts
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.qos import quality
from rayward.kube.machinery.quantity import Quantity, parse
from rayward.kube.machinery.resourcenames import is_extended, is_huge_page, is_native

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
_PLAIN = frozenset({PODS, SERVICES, CLAIMS, "configmaps", "replicationcontrollers", "resourcequotas", "secrets"})
_STORAGE = "requests.storage"
_OF_CLASS = ".storageclass.storage.k8s.io/"
_MEASURED = ("cpu", "memory", "ephemeral-storage")
_COMPUTE = frozenset(prefix + name for prefix in ("", "requests.", "limits.") for name in _MEASURED)
_MUST_BE_SAID = frozenset(prefix + name for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory"))
"""What every container has to say as soon as a quota counts it."""
_DEVICE_CLASSES = "deviceclass.resource.kubernetes.io/"
_ONE = Quantity(1)
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_NODE_PORTS, _BALANCERS = "services.nodeports", "services.loadbalancers"
_PRIORITY, _VOLUME_ATTRIBUTES = "PriorityClass", "VolumeAttributesClass"
_TERMS = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")


@dataclass(frozen=True, slots=True)
class Share:
    """One object as quotas see it."""

    amounts: Mapping[str, Quantity]
    scopes: frozenset[str] = frozenset()
    """The scopes it is in; only pods are in any of these."""
    classes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """For the scopes that select by name: the names it goes by. A scope that is missing never matches."""
    lingers_from: float | None = None
    """From then on a pod is overdue: still an object, but nothing else is counted of it."""

    def at(self, now: float) -> Mapping[str, Quantity]:
        """What it takes at a moment."""
        if self.lingers_from is None or now <= self.lingers_from:
            return self.amounts
        return {name: amount for name, amount in self.amounts.items() if name.startswith("count/")}


@dataclass(frozen=True, slots=True)
class Selector:
    """One requirement of a quota on the objects it counts."""

    scope: str
    operator: str = "Exists"
    values: frozenset[str] = frozenset()

    def matches(self, share: Share) -> bool:
        """Whether an object meets it."""
        if self.scope not in (_PRIORITY, _VOLUME_ATTRIBUTES):
            return self.scope in share.scopes
        names = share.classes.get(self.scope)
        if names is None:
            return False
        if self.operator == "Exists":
            return bool(names)
        if self.operator == "DoesNotExist":
            return not names
        if self.operator == "In":
            return bool(names & self.values)
        return not names or bool(names - self.values)


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
    if name == _STORAGE or name.endswith((_OF_CLASS + CLAIMS, _OF_CLASS + _STORAGE)):
        return CLAIMS
    if name in _COMPUTE or is_huge_page(name.removeprefix("requests.")) or _is_extended_request(name):
        return PODS
    return name if name in _PLAIN else ""


def _is_extended_request(name: str) -> bool:
    known = not is_native(name) or name.startswith(f"requests.{_DEVICE_CLASSES}")
    return name.startswith("requests.") and known


def counts_all(names: Sequence[str]) -> bool:
    """Whether limits of these names count each object of their kind as one, whatever it is like."""
    return all(name.startswith("count/") or (name in _PLAIN and name != PODS) for name in names)


def share_of(kind: str, obj: Object) -> Share:
    """What an object of a resource takes."""
    amounts = {f"count/{kind}": _ONE, **({kind: _ONE} if kind in _PLAIN else {})}
    spec = section(obj, "spec")
    if kind == PODS:
        return _pod(obj, spec, amounts)
    if kind == SERVICES:
        return Share({**amounts, **{name: Quantity(count) for name, count in _service(spec).items()}})
    if kind == CLAIMS:
        return _claim(obj, spec, amounts)
    return Share(amounts)


def unsaid(pod: Object, counted: Iterable[str]) -> str:
    """Why a quota that counts these may not take the pod: what its containers leave open. Empty: nothing."""
    wanted = _MUST_BE_SAID.intersection(counted)
    if not wanted or podamounts.has_pod_level(pod):
        return ""
    spec = section(pod, "spec")
    missing: dict[str, set[str]] = {}
    for container in (*entries(spec, "containers"), *entries(spec, "initContainers")):
        requests, limits = (podamounts.amounts_in(container, part) for part in ("requests", "limits"))
        for name in wanted - _compute(requests, limits).keys():
            missing.setdefault(name, set()).add(container["name"])
    parts = [f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing)]
    return f"must specify {'; '.join(parts)}" if parts else ""


def _compute(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Requests and limits under the names that quotas have for them."""
    found: dict[str, Quantity] = {}
    for name, value in requests.items():
        if name in _MEASURED or is_huge_page(name):
            found[name] = found[f"requests.{name}"] = value
        elif is_extended(name) or name.startswith(_DEVICE_CLASSES):
            found[f"requests.{name}"] = value
    return found | {f"limits.{name}": limits[name] for name in _MEASURED if name in limits}


def _claim(obj: Object, spec: Object, amounts: dict[str, Quantity]) -> Share:
    annotation = section(obj["metadata"], "annotations").get(_CLASS_ANNOTATION)
    storage_class = annotation if annotation is not None else spec.get("storageClassName")
    status = section(obj, "status")
    asked = section(section(spec, "resources"), "requests").get("storage")
    if asked is not None:
        # a claim that shrinks again after a failed growth still takes what was allocated
        granted = section(status, "allocatedResources").get("storage", asked)
        amounts[_STORAGE] = _whole(max(parse(asked), parse(granted)))
    if storage_class:
        for name in (CLAIMS, _STORAGE):
            if name in amounts:
                amounts[f"{storage_class}{_OF_CLASS}{name}"] = amounts[name]
    names = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        section(status, "modifyVolumeStatus").get("targetVolumeAttributesClassName"),
    )
    return Share(amounts, classes={_VOLUME_ATTRIBUTES: frozenset(name for name in names if name)})


def _whole(amount: Quantity) -> Quantity:
    """Bytes are not split."""
    return amount if amount.milli() % 1000 == 0 else Quantity(amount.as_int(), 0, amount.format)


def _pod(obj: Object, spec: Object, amounts: dict[str, Quantity]) -> Share:
    status, metadata = section(obj, "status"), obj["metadata"]
    if status.get("phase") in ("Succeeded", "Failed"):
        del amounts[PODS]
    else:
        amounts |= _compute(podamounts.charged(obj, "requests"), podamounts.charged(obj, "limits"))
    lingers_from, grace = None, metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp") and grace is not None:
        marked = time.strptime(metadata["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
        lingers_from = float(calendar.timegm(marked) + grace)
    scopes = {
        "NotTerminating" if spec.get("activeDeadlineSeconds") is None else "Terminating",
        "BestEffort" if quality(spec) == "BestEffort" else "NotBestEffort",
        *({"CrossNamespacePodAffinity"} if any(_looks_elsewhere(term) for term in _affinity_terms(spec)) else ()),
    }
    priority = spec.get("priorityClassName")
    classes = {_PRIORITY: frozenset((priority,) if priority else ())}
    return Share(amounts, frozenset(scopes), classes, lingers_from)


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
