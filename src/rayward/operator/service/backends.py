"""Which clusters get the requests of the serve Services, by their endpoints and by what the proxy in front reports.

Both follow a Service's selector in their own time: until they have, requests go where they went before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rayward.kinds import labels
from rayward.kube.core.service import Service
from rayward.operator.cluster.pod import RayPod


@dataclass(frozen=True, slots=True)
class Backends:
    """Where the serve Service leads."""

    service: str = ""
    """Its name."""
    endpoints: frozenset[str] = frozenset()
    """The clusters whose pods are ready endpoints of the Service."""
    proxied: frozenset[str] = frozenset()
    """The clusters to whose pods the proxy sends new requests; empty where there is no proxy."""

    def awaited(self, active: str) -> str:
        """What has to follow before all requests go to ``active``, as a sentence; empty once they do."""
        if not self.service:
            return f"there is no serve Service yet that leads to RayCluster {active}"
        if elsewhere := sorted((self.endpoints | self.proxied) - {active}):
            return f"Service {self.service} still leads to pods of RayCluster {', '.join(elsewhere)}"
        if active not in self.endpoints:
            return f"Service {self.service} has no ready endpoint of RayCluster {active} yet"
        return ""


def backends_of(
    serve_services: Sequence[Service], ready: frozenset[str], pods_of: Mapping[str, Sequence[RayPod]]
) -> Backends:
    """Where the first of the Services leads.

    Args:
        serve_services: First the one that the spec names.
        ready: The uids of the ready pods behind that one.
        pods_of: The pods of each cluster. Those that terminate count: who still leads to them leads to their cluster.
    """
    if not serve_services:
        return Backends()
    first = serve_services[0].metadata
    proxied = frozenset(first.annotation(labels.SERVING).split(","))
    return Backends(
        service=first.name,
        endpoints=frozenset(name for name, pods in pods_of.items() if any(pod.metadata.uid in ready for pod in pods)),
        proxied=frozenset(name for name, pods in pods_of.items() if any(pod.metadata.name in proxied for pod in pods)),
    )


def busy_pods(serve_services: Iterable[Service]) -> frozenset[str]:
    """Pods with requests in flight; until the proxy knows of a switch, it sends requests to those it calls serving."""
    return frozenset(
        pod
        for found in serve_services
        for name in (labels.SERVING, labels.DRAINING)
        for pod in found.metadata.annotation(name).split(",")
        if pod
    )
