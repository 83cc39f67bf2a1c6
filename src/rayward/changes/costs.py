"""What pods cost together, and whether there is room for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.changes.refs import cluster_spec
from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayjob import submission_mode
from rayward.kinds.shapes import SUBMITTER, PodShape, pod_shapes, submitter_spec, with_sidecar
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.machinery import podrequests, quantity
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.machinery.quantity import Quantity

Amounts = Mapping[str, Quantity]

_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be used at most, and what is used of it already; resources that are not named have no limit."""

    name: str
    hard: Amounts
    used: Amounts


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
        submitters = () if pod is None else (PodShape(SUBMITTER, 1, 1, podrequests.pod_requests(pod)),)
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


def shortages(budgets: Iterable[Budget], now: Amounts, peak: Amounts) -> tuple[Shortage, ...]:
    """Where going from ``now`` to ``peak`` would pass a limit."""
    found: list[Shortage] = []
    for budget in budgets:
        for name, limit in budget.hard.items():
            resource = name.removeprefix("requests.")
            more = peak.get(resource, quantity.ZERO) - now.get(resource, quantity.ZERO)
            free = limit - budget.used.get(name, quantity.ZERO)
            if more > quantity.ZERO and more > free:
                found.append(Shortage(budget.name, resource, more, free))
    return tuple(found)


def unplaced(nodes: Sequence[Amounts], shapes: Iterable[PodShape]) -> tuple[PodShape, ...]:
    """The shapes of which not every pod finds room, the largest first; ``nodes`` is what is free on each."""
    free = [dict(node) for node in nodes]
    found: list[PodShape] = []
    for shape in sorted(shapes, key=_weight, reverse=True):
        for _ in range(shape.count):
            home = next((node for node in free if _fits(node, shape.requests)), None)
            if home is None:
                found.append(shape)
                break
            for name, amount in shape.requests.items():
                home[name] = home.get(name, quantity.ZERO) - amount
    return tuple(found)


def _fits(node: Amounts, requests: Amounts) -> bool:
    return all(amount.is_zero or node.get(name, quantity.ZERO) >= amount for name, amount in requests.items())


def _weight(shape: PodShape) -> tuple[int, ...]:
    return tuple(shape.requests.get(name, quantity.ZERO).milli() for name in ("nvidia.com/gpu", "cpu", "memory"))
