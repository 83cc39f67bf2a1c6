"""What the type of a service means for its other fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING

Spec = Mapping[str, Any]


def spec_of(service: Spec) -> Spec:
    """The specification of a service, to read."""
    return service.get("spec") or NOTHING


def needs_cluster_ip(spec: Spec) -> bool:
    """Every type but ExternalName has an address, even if it is ``None``."""
    return spec.get("type") != "ExternalName"


def needs_node_port(spec: Spec) -> bool:
    """Whether nodes listen for it."""
    return spec.get("type") in ("NodePort", "LoadBalancer")


def needs_health_check(spec: Spec) -> bool:
    """Whether nodes tell a load balancer if they have a pod of it."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Spec) -> bool:
    """Whether it can be reached from outside."""
    return needs_node_port(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def is_headless(spec: Spec) -> bool:
    """Whether names resolve to its pods and not to an address of its own."""
    return (spec.get("clusterIPs") or []) == ["None"]


def node_ports(spec: Spec) -> list[int]:
    """Ports of the nodes it uses."""
    return [port["nodePort"] for port in spec.get("ports") or NO_ITEMS if port.get("nodePort")]


def allocates_node_ports(spec: Spec) -> bool:
    """Whether node ports are chosen for ports that name none."""
    return spec.get("type") == "NodePort" or (
        spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    )
