"""What pods cost together, and whether there is room for them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from rayward.changes.refs import cluster_spec
from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayjob import submission_mode
from rayward.kinds.shapes import SUBMITTER, PodShape, pod_shapes, submitter_spec, with_sidecar
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.machinery import nodefit, podrequests, quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity
from rayward.kube.machinery.quotausage import Selector, share_of

Amounts = Mapping[str, Quantity]

_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be used at most, and what is used of it already; resources that are not named have no limit."""

    name: str
    hard: Amounts
    used: Amounts
    selectors: tuple[Selector, ...] = ()
    """Its scopes: it counts the pods that all of them match."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that takes pods.

    Attributes:
        free: What no pod requests of it.
        own: What the pods of the object itself request there, by group.
    """

    free: Amounts
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Object, ...] = ()
    own: Mapping[str, Amounts] = field(default_factory=dict[str, Amounts])


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource of which there is too little."""

    where: str
    resource: str
    needed: Quantity
    free: Quantity

    def __str__(self) -> str:
        return f"{self.where}: needs {self.needed} {self.resource}, has {self.free}"


def shapes_of(kind: str, obj: Object) -> tuple[PodShape, ...]:
    """The pods that an object's spec makes, a RayJob's submitter among them; none while it is suspended."""
    spec, job_spec = cluster_spec(kind, obj), section(obj, "spec") if kind == "RayJob" else None
    if section(obj, "spec").get("suspend"):
        return ()
    submitters: tuple[PodShape, ...] = ()
    if job_spec is not None:
        mode = submission_mode(job_spec)
        pod, spec = submitter_spec(mode, section(job_spec, "submitterPodTemplate")), with_sidecar(mode, spec)
        submitters = () if pod is None else (PodShape(SUBMITTER, 1, 1, podrequests.pod_requests(pod), {"spec": pod}),)
    if not spec:
        return submitters
    metadata = section(obj, "metadata")
    origin = {} if kind == "RayCluster" else {labels.ORIGIN_KIND: kind}
    own = ObjectMeta(
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        labels={**(metadata.get("labels") or {}), **origin},
        annotations=metadata.get("annotations"),
    )
    return (*pod_shapes(RayCluster(metadata=own, spec=msgspec.convert(spec, RayClusterSpec))), *submitters)


def shapes_now(shapes: Sequence[PodShape], pods: Sequence[Object]) -> tuple[PodShape, ...]:
    """The shapes that a spec makes, with those of the pods there are where a group has as many: they may be older.

    Of each group the oldest pods come first.
    """
    found: list[PodShape] = []
    for shape in shapes:
        own = sorted((pod for pod in pods if _group(pod) == shape.group), key=_made)
        if len(own) != shape.count:
            found.append(shape)
            continue
        kinds: list[PodShape] = []
        for pod in own:
            requests = podrequests.pod_requests(section(pod, "spec"))
            if kinds and kinds[-1].requests == requests and record_of(kinds[-1].pod) == record_of(pod):
                kinds[-1] = replace(kinds[-1], count=kinds[-1].count + 1)
            else:
                kinds.append(PodShape(shape.group, 1, shape.most, requests, pod))
        found += kinds
    return tuple(found)


def record_of(pod: Object) -> str:
    """Which template a pod was made from; empty where that is not known."""
    return str(section(section(pod, "metadata"), "annotations").get(labels.TEMPLATE) or "")


def _made(pod: Object) -> tuple[str, int, str]:
    metadata = section(pod, "metadata")
    index = str(section(metadata, "labels").get(labels.REPLICA_INDEX) or "")
    place = int(index) if index.isdecimal() else 0
    return str(metadata.get("creationTimestamp") or ""), place, str(metadata.get("name") or "")


def _group(pod: Object) -> str:
    metadata = section(pod, "metadata")
    return "" if metadata.get("deletionTimestamp") else str(section(metadata, "labels").get(labels.GROUP) or "")


def charged(shapes: Iterable[PodShape], selectors: Sequence[Selector] = ()) -> dict[str, Quantity]:
    """What a ResourceQuota with these scopes counts of the pods, under the names that quotas have for it."""
    found: dict[str, Quantity] = {}
    for shape in shapes:
        share = share_of(_PODS, _with_requests(shape.pod))
        if shape.count and all(selector.matches(share) for selector in selectors):
            found = added(found, {name: amount * shape.count for name, amount in share.amounts.items()})
    return found


def _with_requests(pod: Object) -> Object:
    """A pod as the server stores it: a limit alone is a request too."""
    spec = section(pod, "spec")
    parts: dict[str, Any] = {}
    for part in ("containers", "initContainers"):
        parts[part] = [
            {
                **one,
                "resources": {
                    **resources,
                    "requests": {**section(resources, "limits"), **section(resources, "requests")},
                },
            }
            for one in entries(spec, part)
            for resources in (section(one, "resources"),)
        ]
    return {**pod, "metadata": section(pod, "metadata"), "spec": {**spec, **parts}}


def total(shapes: Iterable[PodShape]) -> dict[str, Quantity]:
    """What the pods request together; ``pods`` is how many they are."""
    found: dict[str, Quantity] = {}
    for shape in shapes:
        for name, amount in {**shape.requests, _PODS: quantity.parse(1)}.items():
            if shape.count:
                added = amount * shape.count
                found[name] = found[name] + added if name in found else added
    return found


def added(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    return {name: one.get(name, quantity.ZERO) + other.get(name, quantity.ZERO) for name in {**one, **other}}


def most(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    """The larger amount of each resource."""
    return {name: max(one.get(name, quantity.ZERO), other.get(name, quantity.ZERO)) for name in {**one, **other}}


def shortages(budget: Budget, now: Amounts, peak: Amounts) -> tuple[Shortage, ...]:
    """Where going from ``now`` to ``peak``, as quotas count, would pass a limit."""
    found: list[Shortage] = []
    for name, limit in budget.hard.items():
        more = peak.get(name, quantity.ZERO) - now.get(name, quantity.ZERO)
        free = limit - budget.used.get(name, quantity.ZERO)
        if more > quantity.ZERO and more > free:
            found.append(Shortage(budget.name, name.removeprefix("requests."), more, free))
    return tuple(found)


def room(nodes: Sequence[Node], gone: Iterable[str]) -> tuple[Node, ...]:
    """The nodes once the object's pods of these groups are gone."""
    left = set(gone)
    return tuple(
        replace(
            node,
            free=functools.reduce(added, (amounts for group, amounts in node.own.items() if group in left), node.free),
        )
        for node in nodes
    )


def unplaced(nodes: Sequence[Node], shapes: Iterable[PodShape]) -> tuple[PodShape, ...]:
    """The shapes of which not every pod finds room on a node that may take it, the largest first."""
    free = [dict(node.free) for node in nodes]
    found: list[PodShape] = []
    for shape in sorted(shapes, key=_weight, reverse=True):
        homes = [left for node, left in zip(nodes, free, strict=True) if _takes(node, section(shape.pod, "spec"))]
        for _ in range(shape.count):
            home = next((left for left in homes if _fits(left, shape.requests)), None)
            if home is None:
                found.append(shape)
                break
            for name, amount in shape.requests.items():
                home[name] = home.get(name, quantity.ZERO) - amount
    return tuple(found)


def _takes(node: Node, spec: Object) -> bool:
    return nodefit.is_allowed(spec, node.name, node.labels) and not nodefit.is_kept_off(spec, node.taints)


def _fits(node: Amounts, requests: Amounts) -> bool:
    return all(amount.is_zero or node.get(name, quantity.ZERO) >= amount for name, amount in requests.items())


def _weight(shape: PodShape) -> tuple[int, ...]:
    return tuple(shape.requests.get(name, quantity.ZERO).milli() for name in ("nvidia.com/gpu", "cpu", "memory"))
