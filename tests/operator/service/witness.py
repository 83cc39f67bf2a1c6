"""Watches a service from the start: whether requests ever led to nobody, and whether there was a cluster too many."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.watch import ChangeType
from rayward.kube.core.objects import KubeObject, version_number
from rayward.kube.core.resource import ENDPOINT_SLICES, SERVICES, Resource
from rayward.kube.core.service import EndpointSlice, Service
from tests.operator.service.stage import NAME, ServiceStage
from tests.operator.watching import watching

_WATCHED: Final[tuple[tuple[Resource, type[KubeObject]], ...]] = (
    (RAY_SERVICES, RayService),
    (RAY_CLUSTERS, RayCluster),
    (SERVICES, Service),
    (ENDPOINT_SLICES, EndpointSlice),
)


@dataclass
class Witness:
    """All changes of a namespace, by their version: watches of several collections come in any order."""

    changes: dict[int, tuple[ChangeType, KubeObject]] = field(default_factory=dict[int, tuple[ChangeType, KubeObject]])
    statuses: int = 0
    """How often the service was written while its spec stayed the same."""

    @property
    def clusters(self) -> set[str]:
        """All Ray clusters that ever were."""
        return {found.metadata.name for _, found in self.changes.values() if isinstance(found, RayCluster)}

    @property
    def served(self) -> list[str]:
        """The clusters that requests led to, one after the other."""
        order: list[str] = []
        for _, found in (self.changes[version] for version in sorted(self.changes)):
            leads_to = _leads_to(found)
            if leads_to and leads_to != (order[-1] if order else ""):
                order.append(leads_to)
        return order

    def saw(self, kind: ChangeType, found: KubeObject) -> None:
        """One change."""
        self.changes[version_number(found.metadata.resource_version)] = kind, found
        if isinstance(found, RayService) and kind is ChangeType.MODIFIED:
            self.statuses += 1

    def swears(self, *, ends: bool = False) -> None:
        """Requests always led to a cluster that was there and ready, and one cluster at most was on its way.

        Args:
            ends: The service is suspended or deleted in the end, and everything may go.
        """
        live: dict[str, bool] = {}
        ready: dict[str, bool] = {}
        serving = ""
        for version in sorted(self.changes):
            kind, found = self.changes[version]
            name, gone = found.metadata.name, kind is ChangeType.DELETED or found.deleting
            if isinstance(found, EndpointSlice):
                ready[found.metadata.label("kubernetes.io/service-name")] = not gone and any(
                    endpoint.conditions.ready is not False and endpoint.addresses for endpoint in found.endpoints or ()
                )
            elif isinstance(found, RayCluster):
                assert not (gone and name == serving and not ends), f"{name} went while it served"
                if gone:
                    live.pop(name, None)
                else:
                    live[name] = found.metadata.annotation("rayward.dev/promoted") == "true"
            elif isinstance(found, Service) and name == f"{NAME}-serve-svc":
                assert ends or not gone, "the serve service went"
                leads_to = _leads_to(found)
                if leads_to != serving and not gone:
                    assert leads_to in live, f"requests were led to {leads_to}, which is not there"
                    assert ready.get(f"{leads_to}-serve-svc"), f"requests were led to {leads_to}, which was not ready"
                serving = "" if gone else leads_to
            fresh = [cluster for cluster, promoted in live.items() if not promoted]
            assert len(fresh) <= 1, f"several clusters on their way: {fresh}"


def _leads_to(found: KubeObject) -> str:
    if isinstance(found, Service) and found.metadata.name == f"{NAME}-serve-svc":
        return (found.spec.selector or {}).get(labels.CLUSTER, "")
    return ""


@asynccontextmanager
async def witness(ray: ServiceStage) -> AsyncGenerator[Witness]:
    """Watch until the block ends."""
    seen = Witness()
    async with watching(ray, _WATCHED, seen.saw):
        yield seen
