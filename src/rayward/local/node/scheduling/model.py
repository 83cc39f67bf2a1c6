"""Nodes and pods as the scheduler sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.podrequests import ZERO, amounts, pod_requests
from rayward.kube.machinery.quantity import Quantity

HostPort = tuple[str, str, int]


class Occupant(msgspec.Struct, frozen=True):
    """A pod that a node has already."""

    namespace: str
    name: str
    uid: str
    priority: int
    labels: Mapping[str, str]
    requests: Mapping[str, Quantity]
    ports: frozenset[HostPort]
    affinity: Object
    leaving: bool = False

    @classmethod
    def of(cls, pod: Object) -> Occupant:
        """A pod's object, as an occupant."""
        metadata, spec = pod["metadata"], pod["spec"]
        return cls(
            metadata.get("namespace", ""),
            metadata["name"],
            metadata.get("uid", ""),
            spec.get("priority") or 0,
            section(metadata, "labels"),
            pod_requests(spec),
            host_ports(spec),
            section(spec, "affinity"),
            bool(metadata.get("deletionTimestamp")),
        )


class Candidate(msgspec.Struct, frozen=True):
    """A node, with what it has and whom."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Object, ...]
    unschedulable: bool
    allocatable: Mapping[str, Quantity]
    occupants: tuple[Occupant, ...] = ()
    ready: bool = True

    @classmethod
    def of(cls, node: Object, occupants: Iterable[Occupant], *, ready: bool = True) -> Candidate:
        """A node's object, as a candidate."""
        spec = section(node, "spec")
        return cls(
            node["metadata"]["name"],
            section(node["metadata"], "labels"),
            tuple(entries(spec, "taints")),
            bool(spec.get("unschedulable")),
            amounts(section(node, "status").get("allocatable")),
            tuple(occupants),
            ready,
        )

    def used(self) -> dict[str, Quantity]:
        """What its pods ask for together; each counts as one of ``pods``."""
        total: dict[str, Quantity] = {"pods": quantity.parse(len(self.occupants))}
        for occupant in self.occupants:
            for name, amount in occupant.requests.items():
                total[name] = total.get(name, ZERO) + amount
        return total


def host_ports(spec: Object) -> frozenset[HostPort]:
    """The ports of its node that a pod asks for."""
    return frozenset(
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])  # noqa: S104
        for container in (*entries(spec, "containers"), *entries(spec, "initContainers"))
        for port in entries(container, "ports")
        if port.get("hostPort")
    )


def is_over(pod: Object) -> bool:
    """Whether a pod no longer takes room."""
    return section(pod, "status").get("phase") in ("Succeeded", "Failed")
